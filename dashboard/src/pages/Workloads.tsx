/** Workloads: the list, or one of them by the address. */
import { useRouter } from '@/app/router';
import { WorkloadDetail } from './workloads/Detail';
import { WorkloadList } from './workloads/List';

export default function WorkloadsPage() {
  const name = useRouter((state) => state.route.query.get('name'));
  return name ? <WorkloadDetail key={name} name={name} /> : <WorkloadList />;
}
