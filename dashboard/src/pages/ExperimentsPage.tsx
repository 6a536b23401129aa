/** Experiments: the list, one run, several side by side, or the form of a new one, by the address. */
import { ErrorMessage, Link } from '@/components/controls';
import { useRouter } from '@/state/router';
import { ComparisonPage } from './experiments/ComparisonPage';
import { NewExperiment } from './experiments/NewExperiment';
import { RunList } from './experiments/RunList';
import { RunPage } from './experiments/RunPage';
import { parseIds } from './experiments/runs';

export default function ExperimentsPage() {
  const query = useRouter((state) => state.route.query);
  if (query.has('new')) return <NewExperiment key={query.toString()} query={query} />;
  const several = parseIds(query.get('runs'));
  if (several && several.length > 1) return <ComparisonPage key={several.join()} ids={several} />;
  const one = parseIds(query.get('run')) ?? several;
  if (one?.[0] !== undefined) return <RunPage key={one[0]} id={one[0]} />;
  if (query.has('run') || query.has('runs')) {
    return (
      <div className="space-y-3">
        <ErrorMessage message="This address names no runs." hint="It should end with run=3, or runs=1,2." />
        <Link to="/experiments">All experiments</Link>
      </div>
    );
  }
  return <RunList />;
}
