/** Models: what learns now, what runs have left, what lies on this machine, and how to train one. */
import { GraduationCap } from 'lucide-react';
import type { Schemas } from '@/api/client';
import { useGet } from '@/api/useGet';
import { ErrorLine } from '@/look/parts';
import { Files } from './models/Files';
import { Learners } from './models/Learners';
import { Stored } from './models/Stored';
import { COMMANDS } from './models/words';
import { Asked, Skeleton } from './parts/Asked';
import { Command } from './parts/Command';
import { PageHead, Panel } from './parts/Panel';

export default function Models() {
  const answer = useGet<Schemas['Models']>('/api/models');
  return (
    <>
      <PageHead title="Models" about="Two schedulers learn while they work: a forest that predicts times and shares, and an agent that is rewarded for cheap decisions." />
      <div className="grid items-start gap-3 lg:grid-cols-2">
        <Learners />
        <div className="min-w-0 space-y-3">
          <Training />
          <Asked answer={answer} skeleton={<Skeleton heights={['h-32', 'h-96']} label="Loading the models" />}>
            {({ stored, files, problems }) => (
              <>
                {problems.map((problem) => <ErrorLine key={problem} message={problem} />)}
                <Stored models={stored} />
                <Files files={files} />
              </>
            )}
          </Asked>
        </div>
      </div>
    </>
  );
}

function Training() {
  return (
    <Panel title="Train one yourself" icon={<GraduationCap size={15} />} subtitle="in a terminal on the machine of the server">
      <div className="space-y-3">
        {COMMANDS.map(([about, command]) => <Command key={command} about={about} text={command} />)}
        <p className="text-xs text-quiet">Beside each model stands a manifest with its SHA-256. A file that does not match it is not read, for reading a model can run code.</p>
      </div>
    </Panel>
  );
}
