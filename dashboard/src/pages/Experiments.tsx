/** Experiments: the list, one run, several side by side, or the form of a new one, by the address. */
import { useRouter } from '@/app/router';
import { ErrorLine } from '@/look/parts';
import { Compare } from './experiments/Compare';
import { List } from './experiments/List';
import { NewExperiment } from './experiments/NewExperiment';
import { numbersOf } from './experiments/rows';
import { RunView } from './experiments/RunView';
import { Link } from './parts/Link';

export default function Experiments() {
  const query = useRouter((state) => state.place.query);
  if (query.has('new')) return <NewExperiment key={query.toString()} query={query} />;
  const several = numbersOf(query.get('runs'));
  if (several && several.length > 1) return <Compare key={several.join()} ids={several} />;
  const one = numbersOf(query.get('run')) ?? several;
  if (one?.[0] !== undefined) return <RunView key={one[0]} id={one[0]} />;
  if (query.has('run') || query.has('runs')) {
    return (
      <div className="space-y-3">
        <ErrorLine message="This address names no runs." hint="It should end with run=3, or runs=1,2." />
        <Link to="/experiments">All experiments</Link>
      </div>
    );
  }
  return <List />;
}
