/** Workloads: the list, or one of them by the address. */
import { useRouter } from '@/app/router';
import { Detail } from './workloads/Detail';
import { List } from './workloads/List';

export default function Workloads() {
  const name = useRouter((state) => state.place.query.get('name'));
  return name ? <Detail key={name} name={name} /> : <List />;
}
