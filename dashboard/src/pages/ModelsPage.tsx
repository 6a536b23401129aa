/** Models: what learns now, what runs have left, what lies on this machine, and how to train one. */
import { GraduationCap } from 'lucide-react';
import type { Schemas } from '@/api/client';
import { useFetch } from '@/api/useFetch';
import { AsyncContent, Skeleton } from '@/components/AsyncContent';
import { CommandLine } from '@/components/CommandLine';
import { ErrorMessage } from '@/components/controls';
import { PageHeader, Panel } from '@/components/Panel';
import { Learners } from './models/Learners';
import { ModelFiles, StoredModels } from './models/ModelFiles';

export default function ModelsPage() {
  const answer = useFetch<Schemas['Models']>('/api/models');
  return (
    <>
      <PageHeader title="Models" about="Two schedulers learn while they work: a forest that predicts times and shares, and an agent that is rewarded for cheap decisions." />
      <div className="grid items-start gap-3 lg:grid-cols-2">
        <Learners />
        <div className="min-w-0 space-y-3">
          <TrainCommands />
          <AsyncContent answer={answer} skeleton={<Skeleton heights={['h-32', 'h-96']} label="Loading the models" />}>
            {({ stored, files, problems }) => (
              <>
                {problems.map((problem) => <ErrorMessage key={problem} message={problem} />)}
                <StoredModels models={stored} />
                <ModelFiles files={files} />
              </>
            )}
          </AsyncContent>
        </div>
      </div>
    </>
  );
}

const TRAIN_COMMANDS: [about: string, command: string][] = [
  ['The forest, on two presets of 10,000 tasks each', 'hms train hybrid_ml --presets mixed,long_tail -o models/hybrid_ml.model'],
  ['The agent, for eight GPUs, with its learning curve', 'hms train rl_agent --gpus 8 --curve models/curve.png -o models/rl_agent.model'],
  ['Use a model in a comparison', 'hms compare long_tail -s hybrid_ml:model=models/hybrid_ml.model,greedy'],
  ['What is in the folder', 'hms models models'],
];

function TrainCommands() {
  return (
    <Panel title="Train one yourself" icon={<GraduationCap size={15} />} subtitle="in a terminal on the machine of the server">
      <div className="space-y-3">
        {TRAIN_COMMANDS.map(([about, command]) => <CommandLine key={command} about={about} text={command} />)}
        <p className="text-xs text-quiet">Beside each model stands a manifest with its SHA-256. A file that does not match it is not read, and nothing in one that is read can run code: models are arrays.</p>
      </div>
    </Panel>
  );
}
