// Made by `npm run types` from the schema folder; do not edit.

export interface paths {
    "/api/clusters": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What can be simulated
         * @description Return presets of jobs, orders of the queue, fit rules, kinds of backfilling, and the runs that were kept.
         */
        get: operations["options_api_clusters_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/clusters/run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Simulate a shared cluster, or a kept run
         * @description Run jobs by one policy, the same every time; return every stint on every GPU in the time of a page.
         */
        get: operations["simulated_api_clusters_run_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/compare": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Compare runs
         * @description Return the figures of several runs, and how each scheduler differs from the first run.
         */
        get: operations["compare_api_compare_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/comparison": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Ranking now
         * @description Return totals and averages of every scheduler, best first, and the lower bound.
         */
        get: operations["comparison_api_comparison_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/distribution/sizes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Task sizes
         * @description Return a histogram of the sizes of the last tasks.
         */
        get: operations["sizes_api_distribution_sizes_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/experiments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Experiments, newest first
         * @description Return experiments and their progress.
         */
        get: operations["page_api_experiments_get"];
        put?: never;
        /**
         * Start an experiment
         * @description Compare schedulers on one workload over several seeds, in a process of its own; one at a time, others wait.
         */
        post: operations["create_api_experiments_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/experiments/{experiment_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * State of an experiment
         * @description Return an experiment and its progress.
         */
        get: operations["detail_api_experiments__experiment_id__get"];
        put?: never;
        post?: never;
        /**
         * Cancel an experiment
         * @description Stop an experiment that is queued or running; one that has ended is deleted as a run.
         */
        delete: operations["cancel_api_experiments__experiment_id__delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/full_history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Latest training records
         * @description Return the latest 1000 training examples of all runs, newest first; empty before any run.
         */
        get: operations["full_history_api_full_history_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Health
         * @description Return the health of database, cache and engine; 503 if the database does not answer.
         */
        get: operations["health_api_health_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/heatmap": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Where the GPU pays
         * @description Return the best GPU share by size and intensity of the last tasks.
         */
        get: operations["heatmap_api_heatmap_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/history/comparative": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Latest results of all schedulers
         * @description Return the latest results of a run with their tasks, newest task first; empty before any run.
         */
        get: operations["comparative_api_history_comparative_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/matrix/correlation": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Correlations
         * @description Return the correlations of task features and of the turnarounds of schedulers.
         */
        get: operations["correlation_api_matrix_correlation_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/matrix/wins": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Pairwise wins
         * @description Return how often each scheduler ended a task before each other one.
         */
        get: operations["wins_api_matrix_wins_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Metrics for Prometheus
         * @description Return counters and gauges in Prometheus' text format.
         */
        get: operations["metrics_api_metrics_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Trained models
         * @description Return models of the database and model files, with what they were trained on.
         *
         *     Files come from the folder `models` and from the cache of agents trained for a cluster.
         */
        get: operations["models_api_models_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pause (short path)
         * @description Pause between two blocks of tasks.
         */
        post: operations["pause_api_pause_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resume (short path)
         * @description Continue after a pause.
         *
         *     With the number of a run, continue that run: it is replayed up to its last stored task.
         */
        post: operations["resume_api_resume_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Runs, newest first
         * @description Return the runs of this database; an empty page if there is none.
         */
        get: operations["page_api_runs_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Everything about a run
         * @description Return the settings of a run, its changes and its results.
         */
        get: operations["detail_api_runs__run_id__get"];
        put?: never;
        post?: never;
        /**
         * Delete a run
         * @description Delete a run that has ended, with all its tasks and results.
         */
        delete: operations["remove_api_runs__run_id__delete"];
        options?: never;
        head?: never;
        /**
         * Rename a run
         * @description Name a run, or remove its name.
         */
        patch: operations["rename_api_runs__run_id__patch"];
        trace?: never;
    };
    "/api/runs/{run_id}/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A run as a file
         * @description Stream every result of a run with its task, in order of task, scheduler and attempt.
         *
         *     Of a running one, the file holds what is stored at the time of the request.
         */
        get: operations["download_api_runs__run_id__export_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run_id}/figures": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Figures of a run
         * @description Return every measure of every scheduler with its 95 % interval.
         */
        get: operations["figures_api_runs__run_id__figures_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run_id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resume a run
         * @description Continue an interrupted or stopped run: it is replayed up to its last task, then runs live.
         */
        post: operations["resume_api_runs__run_id__resume_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schedulers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Known schedulers
         * @description Return the registry: built-in schedulers and plug-ins, how each is drawn, and which take part now.
         */
        get: operations["schedulers_api_schedulers_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schema/ws": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * JSON Schema of the messages on /ws
         * @description Return the schema of every message that the WebSocket sends.
         */
        get: operations["schema_api_schema_ws_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/simulation/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pause
         * @description Pause between two blocks of tasks.
         */
        post: operations["pause_api_simulation_pause_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/simulation/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resume
         * @description Continue after a pause.
         *
         *     With the number of a run, continue that run: it is replayed up to its last stored task.
         */
        post: operations["resume_api_simulation_resume_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/simulation/settings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Settings
         * @description Return the settings and their possible values.
         */
        get: operations["settings_api_simulation_settings_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change settings
         * @description Change settings while the simulation runs; the tasks of a GPU that fails start again elsewhere.
         */
        patch: operations["change_api_simulation_settings_patch"];
        trace?: never;
    };
    "/api/simulation/start": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Start a new run
         * @description Start a new run with the server's settings, some of them changed.
         */
        post: operations["start_api_simulation_start_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/simulation/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * State of the simulation
         * @description Return state, progress and problems; the bound is that of the last certificate, which nobody waits for.
         */
        get: operations["status_api_simulation_status_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/simulation/step": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Process some tasks
         * @description Process so many tasks while paused.
         */
        post: operations["step_api_simulation_step_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/simulation/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End the run
         * @description End the run and store its summary.
         */
        post: operations["stop_api_simulation_stop_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * State of the simulation (short path)
         * @description Return state, progress and problems; the bound is that of the last certificate, which nobody waits for.
         */
        get: operations["status_api_status_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Tasks of a run
         * @description Return tasks of a run in order of their numbers; an empty page before any run.
         */
        get: operations["page_api_tasks_get"];
        put?: never;
        /**
         * Submit a task
         * @description Let a task arrive now; return the decision of every scheduler with its explanation.
         *
         *     The task joins the race like any other: it is stored, counted, and shown to every client.
         */
        post: operations["create_api_tasks_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tasks/{task_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Everything about a task
         * @description Return a task, its results by all schedulers, and every attempt; a task just placed is there at once.
         */
        get: operations["audit_api_tasks__task_id__get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tasks/{task_id}/results": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Add a measured result
         * @description Store the result of a task that really ran elsewhere; it is returned with the others, marked as measured.
         */
        post: operations["create_api_tasks__task_id__results_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/utilization": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Busy shares
         * @description Return how busy every scheduler keeps every device, and how long its queues are.
         */
        get: operations["utilization_api_utilization_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workloads": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * All workloads
         * @description Return uploaded files and built-in presets.
         */
        get: operations["listed_api_workloads_get"];
        put?: never;
        /**
         * Upload a workload
         * @description Store the body of the request as a file if it can be used as a workload; its format is recognised.
         *
         *     A file of the same name is not replaced: delete it first.
         */
        post: operations["upload_api_workloads_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workloads/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Statistics of a workload
         * @description Return the distributions of the sizes, intensities, memory and arrivals of a workload.
         */
        get: operations["detail_api_workloads__name__get"];
        put?: never;
        post?: never;
        /**
         * Delete a workload
         * @description Delete a file, unless an experiment needs it, or the live run, which is replayed with it after a restart.
         */
        delete: operations["remove_api_workloads__name__delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workloads/{name}/file": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A workload as a file
         * @description Return the file as it was uploaded.
         */
        get: operations["download_api_workloads__name__file_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * AgentHistory
         * @description The last updates of an agent.
         */
        AgentHistory: {
            /** @constant */
            kind: "agent";
            /** @description Newest last, 60 at most. */
            points: components["schemas"]["AgentPoint"][];
        };
        /**
         * AgentInsight
         * @description State of a reinforcement learning agent (rl_agent).
         */
        AgentInsight: {
            /** @description Whether it trains in a process of its own; then a new model counts 50 tasks later. */
            beside: boolean;
            /** @description Share of random decisions, 0 to 1. */
            epsilon: number | null;
            /** @constant */
            kind: "agent";
            /** @description Of the last update; null before the first one. */
            loss: number | null;
            /** @description What a decision earns lately: a running mean, in typical tasks; 0 would cost nothing. */
            reward: number | null;
            /** @description Gradient steps, pretraining not included. */
            steps: number;
            /** @description Updates of this race that have changed its weights. */
            updates: number;
            /** @description Models that have replaced one another in this race; 0: the one it started with. */
            version: number;
        };
        /**
         * AgentPoint
         * @description The agent after an update.
         */
        AgentPoint: {
            epsilon: number | null;
            loss: number | null;
            /** @description Running mean, in typical tasks. */
            reward: number | null;
            /** @description The newest task when the update took effect. */
            task: number;
        };
        /**
         * Arrivals
         * @description When tasks arrive.
         */
        Arrivals: {
            /** @description Tasks that arrive in each bin. */
            counts: number[];
            /** @description Seconds, one more than bins. */
            edges: number[];
        };
        /**
         * Candidate
         * @description A device as the scheduler sees it; null is what the scheduler does not know.
         */
        Candidate: {
            chosen: boolean;
            /** @description USD */
            cost: number | null;
            device: number;
            /** @example gpu0 */
            device_name: string;
            /** @description J */
            energy: number | null;
            /** @description When it would end there, simulated seconds. */
            finish: number | null;
            /**
             * @description cpu or gpu
             * @example gpu
             */
            kind: string;
            /** @description Seconds of the whole task there, transfer included. */
            predicted_time: number | null;
            /** @description The scheduler's own score, larger is better; null if it has none. */
            score: number | null;
            /** @description Seconds to transfer its memory there. */
            transfer: number | null;
            /** @description Seconds until it could start there. */
            wait: number | null;
        };
        /**
         * CertifiedFigures
         * @description One scheduler on the certified window.
         */
        CertifiedFigures: {
            /** @description USD per task */
            cost: number | null;
            /** @description J per task */
            energy: number | null;
            /** @description s */
            mean_turnaround: number | null;
            /** @description Whether it split some of the tasks: then only the bounds of all schedules cover it. */
            splits: boolean;
        };
        /**
         * CertifiedWindow
         * @description Consecutive tasks, 500 at most, and what is proved about every schedule of them.
         *
         *     A front is a list of points (mean turnaround, measure per task), fewest joules or dollars first: no schedule lies
         *     below the line through them, which goes straight up from the first and straight right from the last one.
         */
        CertifiedWindow: {
            /** @description (s, USD) of schedules that split no task. */
            cost_front: number[][];
            /** @description (s, USD) of all schedules. */
            cost_front_split: number[][];
            /** @description (s, J) of schedules that split no task. */
            energy_front: number[][];
            /** @description (s, J) of all schedules. */
            energy_front_split: number[][];
            first_task: number;
            /** @description Bound of schedules that split no task, s. */
            mean_turnaround: number | null;
            /** @description Bound of all schedules, s. */
            mean_turnaround_split: number | null;
            tasks: number;
        };
        /**
         * ChangeAnswer
         * @description The change as the run's log has it, and the new settings.
         */
        ChangeAnswer: {
            at_task: number;
            /** @description Simulated seconds. */
            at_time: number;
            change: {
                [key: string]: unknown;
            };
            settings: components["schemas"]["LiveSettings"];
        };
        /**
         * Choices
         * @description Possible values of the settings.
         */
        Choices: {
            most_gpus: number;
            /** @description Workloads that the live race can run on, uploaded ones as `upload:NAME`. */
            presets: string[];
            schedulers: string[];
        };
        /**
         * ClusterAbsence
         * @description A spot node that leaves and comes back.
         */
        ClusterAbsence: {
            /**
             * @description s
             * @example 2600
             */
            back: number;
            /**
             * @description s
             * @example 1000
             */
            leave: number;
            /**
             * @description Row of the node in `nodes`.
             * @example 2
             */
            node: number;
            /**
             * @description From when on it takes no more jobs, s.
             * @example 880
             */
            notice: number;
        };
        /**
         * ClusterJob
         * @description A job: what it asks for, and when it ran.
         */
        ClusterJob: {
            /**
             * @description s
             * @example 120
             */
            arrival: number;
            /** @example 24 */
            cores: number;
            /**
             * @description s
             * @example 3780
             */
            finish: number | null;
            /**
             * @description Part of each of its GPUs.
             * @example 1
             */
            gpu_share: number;
            /**
             * @description GPUs that it takes at once.
             * @example 4
             */
            gpus: number;
            /**
             * @description How often it was interrupted.
             * @example 0
             */
            interruptions: number;
            /**
             * @description Number of the job.
             * @example 17
             */
            job: number;
            /**
             * @description When it started first, s; null if it never ran.
             * @example 180
             */
            start: number | null;
            /** @example 3 */
            user: number;
        };
        /**
         * ClusterNode
         * @description A node.
         */
        ClusterNode: {
            /** @example 96 */
            cores: number;
            /** @example 8 */
            gpus: number;
            /**
             * @description Model of its GPUs; empty without any.
             * @example V100
             */
            model: string;
        };
        /**
         * ClusterOption
         * @description Something that can be chosen.
         */
        ClusterOption: {
            /** @example sjf */
            name: string;
            /** @description Whether there is a queue that backfilling can pass. */
            queue: boolean;
            /** @example shortest requested time first */
            summary: string;
        };
        /**
         * ClusterOptions
         * @description What can be simulated, and which runs were kept.
         */
        ClusterOptions: {
            backfilling: string[];
            fits: components["schemas"]["ClusterOption"][];
            kept: components["schemas"]["KeptJobs"][];
            most_jobs: number;
            orders: components["schemas"]["ClusterOption"][];
            workloads: components["schemas"]["ClusterOption"][];
        };
        /**
         * ClusterRun
         * @description A page of a simulation of a shared cluster: the jobs that wait or hold something in a stretch of time.
         */
        ClusterRun: {
            absences: components["schemas"]["ClusterAbsence"][];
            /** @description When the page begins, s: the first with the first arrival. */
            begin: number;
            /** @description No schedule of all jobs on nodes that stay ends before, s. */
            bound: number;
            /** @description When the page ends, s: the last with the last finish. */
            end: number;
            jobs: components["schemas"]["ClusterJob"][];
            /**
             * @description Measures of all pages by name.
             * @example {
             *       "bounded_slowdown": 3.2
             *     }
             */
            measures: {
                [key: string]: number | null;
            };
            nodes: components["schemas"]["ClusterNode"][];
            /**
             * @description Number of the page, from 0.
             * @example 0
             */
            page: number;
            /**
             * @description How many pages there are.
             * @example 1
             */
            pages: number;
            /** @example fcfs+easy */
            policy: string;
            stints: components["schemas"]["ClusterStint"][];
            /**
             * @description What was run.
             * @example training_jobs, seed 0: 60 jobs on 16 nodes …
             */
            title: string;
            /**
             * @description Jobs on all pages.
             * @example 60
             */
            total_jobs: number;
        };
        /**
         * ClusterStint
         * @description What a job held: one line for every GPU, or for its cores if it has none.
         */
        ClusterStint: {
            /**
             * @description s
             * @example 180
             */
            begin: number;
            /**
             * @description s
             * @example 3780
             */
            end: number;
            /**
             * @description Number of the GPU on its node; null: cores.
             * @example 0
             */
            gpu: number | null;
            /**
             * @description Row of the job in `jobs`.
             * @example 17
             */
            job: number;
            /**
             * @description Row of the node in `nodes`.
             * @example 2
             */
            node: number;
        };
        /**
         * Comparison
         * @description The ranking, and how far from optimal each scheduler is.
         */
        Comparison: {
            /** @description Lower bound: no schedule ends all tasks so far before this time. */
            bound: number | null;
            /**
             * @description The figure of the last tasks by which they are ranked.
             * @enum {string}
             */
            by: "mean_turnaround" | "p95_turnaround" | "avg_time" | "mean_waiting" | "energy" | "cost";
            /** @description Tasks whose turnaround is certified, and the bounds; null: too few tasks yet. */
            certified_window: components["schemas"]["CertifiedWindow"] | null;
            /** @description The last training updates of every scheduler that learns. */
            histories: {
                [key: string]: components["schemas"]["ForestHistory"] | components["schemas"]["AgentHistory"];
            };
            ranking: components["schemas"]["Ranked"][];
            /** @description Simulated seconds. */
            sim_time: number;
            /**
             * @description ready, running, paused, stopped or failed
             * @example running
             */
            state: string;
            tasks_processed: number;
        };
        /**
         * CorrelationMatrix
         * @description Correlations over the last tasks (2000 at most).
         */
        CorrelationMatrix: {
            /** @description [i][j]: Pearson's r of features i and j, -1 to 1. */
            correlation: (number | null)[][];
            /**
             * @description size (problem size N), intensity (0 to 1), memory (MB), GPU share (the best one, were the cluster idle), best time (shortest whole time on any device, s), then every scheduler by its name: its turnaround, s.
             * @example [
             *       "size",
             *       "intensity",
             *       "memory",
             *       "eft",
             *       "oracle"
             *     ]
             */
            features: string[];
            tasks: number;
        };
        /**
         * Device
         * @description A device of the cluster.
         */
        Device: {
            device_class: string;
            failed: boolean;
            index: number;
            /**
             * @description cpu or gpu
             * @example gpu
             */
            kind: string;
            /**
             * @description A GPU that a CPU stands in for is called (emulated).
             * @example gpu0
             */
            name: string;
        };
        /**
         * Difference
         * @description How one scheduler differs between a run and the baseline.
         */
        Difference: {
            baseline: number;
            /** @description Whether the interval excludes 0. */
            differs: boolean;
            high: number | null;
            low: number | null;
            /** @description Of the run minus that of the baseline. */
            mean: number | null;
            measure: string;
            /** @description Whether both ran on the same tasks from the same seeds. */
            paired: boolean;
            /** @description The difference against the baseline's mean, 0.1 is 10 % more. */
            relative: number | null;
            run_id: number;
            scheduler: string;
        };
        /**
         * Distribution
         * @description How one quantity is spread over the tasks.
         */
        Distribution: {
            /** @description Tasks in each bin. */
            counts: number[];
            /** @description Limits of the bins, one more than bins. */
            edges: number[];
            maximum: number;
            mean: number;
            median: number;
            minimum: number;
            p25: number;
            p75: number;
            p90: number;
            p99: number;
            /**
             * @description Of the bins; log where the values are heavy-tailed.
             * @enum {string}
             */
            scale: "linear" | "log";
        };
        /**
         * ErrorAnswer
         * @description The response to a request that failed.
         */
        ErrorAnswer: {
            error: components["schemas"]["Problem"];
        };
        /**
         * Estimate
         * @description A measure with its 95 % interval.
         */
        Estimate: {
            high: number | null;
            /** @description null: there is no interval, as for a single number. */
            low: number | null;
            mean: number | null;
            /** @description Number of seeds or batches. */
            n: number;
        };
        /**
         * Experiment
         * @description An experiment and its progress; its results are the figures of the run with the same number.
         */
        Experiment: {
            /** @description Experiments queued before it; null if it is not queued. */
            ahead: number | null;
            /** Format: date-time */
            asked_at: string;
            /** @description Seeds that are done. */
            done: number;
            ended_at: string | null;
            /**
             * @description Why it failed; empty: it did not.
             * @example
             */
            error: string;
            /** @description null until it is finished */
            headline: components["schemas"]["Headline"] | null;
            /** @description Number of its run. */
            id: number;
            load: number | null;
            /** @enum {string} */
            mode: "queued" | "isolated";
            num_gpus: number;
            /** @description Seeds in all. */
            of: number;
            rate: number | null;
            schedulers: string[];
            seeds: number[];
            /** @enum {string} */
            state: "queued" | "running" | "finished" | "failed" | "cancelled" | "interrupted";
            /** @description Tasks of a seed; null: as many as the preset or file has. */
            tasks: number | null;
            title: string | null;
            /** @example long_tail */
            workload: string;
        };
        /**
         * ExperimentCreate
         * @description An experiment to run.
         */
        ExperimentCreate: {
            /**
             * @description Offered load; or give a rate.
             * @example 0.8
             */
            load?: number | null;
            /**
             * @description queued: devices have queues; isolated: every task has them to itself.
             * @default queued
             * @enum {string}
             */
            mode: "queued" | "isolated";
            /**
             * @description Number of GPUs.
             * @default 4
             */
            num_gpus: number;
            /**
             * @description Tasks per simulated second.
             * @example null
             */
            rate?: number | null;
            /**
             * @description Schedulers to compare.
             * @example [
             *       "greedy",
             *       "eft"
             *     ]
             */
            schedulers: string[];
            /**
             * @description How many seeds, counted from 0, or a list of them.
             * @default 10
             * @example 10
             */
            seeds: number | number[];
            /** @description Tasks of a seed; null: as many as the preset or file has. */
            tasks?: number | null;
            /** @example long tails overnight */
            title?: string | null;
            /**
             * @description A preset, or `upload:NAME`.
             * @default mixed
             * @example long_tail
             */
            workload: string;
        };
        /**
         * ExperimentPage
         * @description Some experiments, newest first.
         */
        ExperimentPage: {
            experiments: components["schemas"]["Experiment"][];
            /** @description More are refused. */
            most_waiting: number;
            /** @description Pass it as `after` for the next page; null: this is the last one. */
            next: number | null;
            /** @description Experiments that are queued or running. */
            waiting: number;
        };
        /**
         * Explanation
         * @description Why a scheduler decided as it did.
         */
        Explanation: {
            candidates: components["schemas"]["Candidate"][];
            /**
             * @description Contribution of each feature of the task, of a scheduler that learns; else empty.
             * @example {
             *       "compute_intensity": 0.52,
             *       "size": 0.41
             *     }
             */
            contributions: {
                [key: string]: number | null;
            };
            device: number;
            /** @description When it expected the task to end, simulated seconds; null: it predicts no times. */
            expected_finish: number | null;
            /** @description Execution time that it expected of its decision, s; null: it predicts no times. */
            expected_time: number | null;
            gpu_fraction: number | null;
            /**
             * @description What the scheduler does.
             * @example whole task where it ends first
             */
            rule: string;
            /**
             * @description The decision in one sentence.
             * @example whole on gpu1: would end 0.31 s from now, 0.12 s before gpu0, the next best
             */
            why: string;
        };
        /**
         * ForestHistory
         * @description The last fits of a forest.
         */
        ForestHistory: {
            /** @constant */
            kind: "forest";
            /** @description Newest last, 30 at most. */
            points: components["schemas"]["Retrain"][];
        };
        /**
         * ForestInsight
         * @description State of a forest (hybrid_ml).
         */
        ForestInsight: {
            /** @description Whether it trains in a process of its own; then a new model counts 50 tasks later. */
            beside: boolean;
            /** @description How much each feature matters to the predicted GPU share; they add up to 1. */
            feature_importance: {
                [key: string]: number | null;
            };
            /** @constant */
            kind: "forest";
            /** @description The newest task when the last forest began to decide; null: none in this race yet. */
            last_retrain: number | null;
            /** @description Fits of this model, pretraining included. */
            retrains: number;
            /** @description Mean absolute error, in seconds, of the predicted execution times on all classes that can run the task. */
            seconds_mae: number | null;
            /** @description R² of the same predictions. */
            seconds_r2: number | null;
            /** @description Tasks that these two are about: the last ones, 1000 at most. */
            seconds_tested: number;
            /**
             * @description Mean absolute error of the predicted GPU share (0 to 1) against the share that was best in retrospect.
             *
             *     On the tasks between the last two fits, which the forest of that time had not seen; null: only one fit yet.
             */
            share_mae: number | null;
            /** @description R² of the same predictions; null also where the best shares were all equal. */
            share_r2: number | null;
            /** @description Tasks that these two are about. */
            share_tested: number;
            /** @description Models that have replaced one another in this race; 0: the one it started with. */
            version: number;
        };
        /**
         * Headline
         * @description The best scheduler, by mean turnaround.
         */
        Headline: {
            /** @description Seconds from arrival to finish. */
            mean_turnaround: number | null;
            /** @example eft */
            scheduler: string;
            /** @description Schedulers of a comparison that cannot be told apart from it. */
            tied: string[];
        };
        /**
         * Health
         * @description Health of the service.
         */
        Health: {
            cache: components["schemas"]["Part"];
            /**
             * @description Size of the database, a minute old at most; null: not measured by this process.
             * @example 1200000
             */
            database_bytes: number | null;
            /** @description Space for the database; degraded if little is left. */
            disk: components["schemas"]["Part"];
            /**
             * @description Left on its disk, with PostgreSQL on that of DATA_DIR.
             * @example 10000000000
             */
            disk_free_bytes: number | null;
            engine: components["schemas"]["Part"];
            /** @enum {string} */
            state: "ok" | "degraded" | "down";
            store: components["schemas"]["Part"];
            /** @description Background work of the server, which is started again when it fails. */
            tasks: components["schemas"]["Part"];
            /** @description Seconds. */
            uptime: number;
            version: string;
        };
        /**
         * Heatmap
         * @description Where the GPU pays, by size and intensity, over the last tasks (2000 at most).
         */
        Heatmap: {
            /** @description [size][intensity]: best share on a GPU of the mean task there; null: none seen. */
            best_gpu_share: (number | null)[][];
            /** @description [size][intensity]: tasks that are faster whole on a GPU, 0 to 1. */
            gpu_wins: (number | null)[][];
            intensity_edges: number[];
            /** @description Whether the edges of the sizes grow by factors, as they do if the largest is over 20 times the least. */
            log_sizes: boolean;
            size_edges: number[];
            /** @description [size][intensity]: median of log2(time on a CPU / time on a GPU) of the tasks there, whole; 1: the GPU takes half the time, below 0: the CPU is faster; null: none seen that both can run. */
            speedup: (number | null)[][];
            tasks: number;
        };
        /**
         * HistoryRow
         * @description A result together with its task.
         */
        HistoryRow: {
            /**
             * @description Execution time, s.
             * @example 0.4
             */
            actual_time: number | null;
            /**
             * @description When it arrived, simulated seconds.
             * @example 34.5
             */
            arrival_time: number;
            /** @description 2 and more: started again because its GPU failed. */
            attempt: number;
            /**
             * @description How much it gains from a GPU, 0 to 1.
             * @example 0.8
             */
            compute_intensity: number;
            /** @description Tasks that must end before it starts. */
            dependencies: number[];
            /**
             * @description Device that did it (of a split task the GPU), -1: none.
             * @example 2
             */
            device: number;
            /**
             * @description J
             * @example 20
             */
            energy_consumption: number | null;
            /**
             * @description USD
             * @example 0.0001
             */
            execution_cost: number | null;
            /**
             * @description When its last share ended.
             * @example 35
             */
            finish_time: number | null;
            /**
             * @description Share of the task on a GPU.
             * @example 0.75
             */
            gpu_fraction: number | null;
            /** @description Whether it really ran, rather than in simulated time. */
            measured: boolean;
            /**
             * @description Memory in MB.
             * @example 200
             */
            memory_required: number;
            /**
             * @description Name of the scheduler.
             * @example oracle
             */
            scheduler_name: string;
            /**
             * @description Problem size N.
             * @example 2500
             */
            size: number;
            /**
             * @description When its first share started, simulated seconds.
             * @example 34.6
             */
            start_time: number | null;
            /**
             * @description 0 it ran; 1 it ran elsewhere than the scheduler said, because it does not fit there; 2 rejected, it needs more memory than any device has; 3 rejected, no device class can run it; 4 rejected, a task it depends on was rejected; 5 rejected, too many tasks were waiting already; 7 it has not started yet
             * @example 0
             */
            status: number;
            /**
             * @description Number of the task in its run.
             * @example 101
             */
            task_id: number;
            /**
             * @description From arrival to finish, s.
             * @example 0.5
             */
            turnaround_time: number | null;
            /**
             * @description Time in queues, s.
             * @example 0.1
             */
            waiting_time: number | null;
        };
        /**
         * KeptJobs
         * @description A run that `hms jobs --out` has kept in the folder `jobs` of the service's data.
         */
        KeptJobs: {
            /**
             * @description Name of its folder.
             * @example lublin
             */
            name: string;
            /**
             * @example [
             *       "fcfs+easy",
             *       "sjf+easy"
             *     ]
             */
            policies: string[];
            /**
             * @description What was run.
             * @example lublin_256.swf
             */
            source: string;
            /**
             * @description Its windows, or seeds of a preset.
             * @example [
             *       "job 1041"
             *     ]
             */
            windows: string[];
        };
        /**
         * LiveSettings
         * @description The current settings.
         */
        LiveSettings: {
            /**
             * @description simulated, or what really runs the tasks
             * @example simulated
             */
            backend: string;
            /**
             * @description Devices of the backend; empty if simulated.
             * @example
             */
            devices: string;
            energy_weight: number;
            failed_gpus: number[];
            load: number | null;
            max_queue: number | null;
            num_gpus: number;
            /** @description null: as fast as possible */
            pace: number | null;
            preset: string;
            rate: number | null;
            /** @description Whether the same seed and commands give the same run. */
            repeatable: boolean;
            schedulers: string[];
            seed: number;
        };
        /**
         * MeasureInfo
         * @description A measure and its meaning.
         */
        MeasureInfo: {
            less_is_better: boolean;
            /** @example mean time from arrival to finish */
            meaning: string;
            /** @example mean_turnaround */
            name: string;
            /** @example s */
            unit: string;
        };
        /**
         * ModelFile
         * @description A model file and its manifest.
         */
        ModelFile: {
            /** @example hybrid_ml.pkl */
            file: string;
            /** @example models */
            folder: string;
            /** @description Whether the file is the one its manifest describes. */
            intact: boolean;
            /** @example forest */
            kind: string;
            training: {
                [key: string]: unknown;
            };
            /** @description Version of this program that wrote it. */
            version: string;
        };
        /**
         * Models
         * @description Models of runs, and model files of this machine.
         */
        Models: {
            files: components["schemas"]["ModelFile"][];
            /** @description Folders that cannot be read, and why. */
            problems: string[];
            /** @description Newest first. */
            stored: components["schemas"]["StoredModel"][];
        };
        /**
         * OtherInsight
         * @description What a third-party policy reports about itself.
         */
        OtherInsight: {
            /** @constant */
            kind: "other";
            values: {
                [key: string]: unknown;
            };
        };
        /**
         * Part
         * @description Health of one part.
         */
        Part: {
            /** @example sqlite */
            kind: string;
            /** @example  */
            message: string;
            /** @description Latency of its answer. */
            milliseconds: number | null;
            /** @enum {string} */
            state: "ok" | "degraded" | "down" | "none";
        };
        /**
         * Problem
         * @description What went wrong and what to do next.
         */
        Problem: {
            /**
             * @description More, such as all wrong fields; null if there is no more.
             * @example null
             */
            detail: unknown;
            /**
             * @description The next step.
             * @example the list of runs shows what is there
             */
            hint: string;
            /**
             * @description Kind of error.
             * @example not_found
             */
            kind: string;
            /**
             * @description One line.
             * @example run 7 is not in this database: …
             */
            message: string;
        };
        /**
         * Quantiles
         * @description Three quantiles; null without any tasks.
         */
        Quantiles: {
            p50: number | null;
            p95: number | null;
            p99: number | null;
        };
        /**
         * Ranked
         * @description The figures of a scheduler (SchedulerFigures) and its place.
         */
        Ranked: {
            avg_time: number | null;
            backlog: number | null;
            certified: components["schemas"]["CertifiedFigures"] | null;
            cost: number | null;
            decision_microseconds: number | null;
            energy: number | null;
            insight: components["schemas"]["ForestInsight"] | components["schemas"]["AgentInsight"] | components["schemas"]["OtherInsight"] | null;
            makespan: number | null;
            makespan_over_bound: number | null;
            mean_turnaround: number | null;
            name: string;
            /**
             * @description Its figure divided by the best one's.
             * @example 1.25
             */
            over_best: number | null;
            queue_length: number;
            /** @description 1 is the best. */
            rank: number;
            rejected: number;
            restarts: number;
            saturated: boolean;
            spilled: number;
            tasks: number;
            total_time: number | null;
            turnaround_cdf: (number | null)[];
            turnaround_over_bound: number | null;
            utilisation: (number | null)[];
            window: components["schemas"]["WindowFigures"];
            wins: number;
        };
        /**
         * Removed
         * @description What was deleted.
         */
        Removed: {
            /** @example upload:trace.csv */
            removed: string;
        };
        /**
         * ResumeOrder
         * @description Which run to resume.
         */
        ResumeOrder: {
            /**
             * @description A run that was interrupted or finished; left out: the one that is paused.
             * @example null
             */
            run_id?: number | null;
        };
        /**
         * Resumed
         * @description A run that was resumed.
         */
        Resumed: {
            run_id: number;
        };
        /**
         * Retrain
         * @description A fit of the forest.
         */
        Retrain: {
            /** @description As share_mae: of the forest before, on tasks that it had not seen. */
            mae: number | null;
            /** @description As share_r2. */
            r2: number | null;
            /**
             * @description first: there was none; interval: it was time and worth it; drift: the work had changed.
             * @enum {string}
             */
            reason: "first" | "interval" | "drift";
            /** @description Tasks that it was fitted on. */
            samples: number;
            /** @description Wall time of the fit. */
            seconds: number | null;
            /** @description The newest task when the new forest began to decide. */
            task: number;
            /** @description Tasks that both are about. */
            tested: number;
        };
        /**
         * RunChange
         * @description What can be changed about a run.
         */
        RunChange: {
            /** @description null removes the name. */
            title: string | null;
        };
        /**
         * RunComparison
         * @description A comparison of several runs.
         */
        RunComparison: {
            /** @description The first run that was named. */
            baseline: number;
            differences: components["schemas"]["Difference"][];
            /** @description What to keep in mind, such as runs on different workloads. */
            notes: string[];
            runs: components["schemas"]["RunFigures"][];
        };
        /**
         * RunDetail
         * @description Everything about a run; seed, settings and changes are what it takes to repeat it.
         */
        RunDetail: {
            /** @description Oldest first. */
            changes: components["schemas"]["SettingsChange-Output"][];
            cluster: {
                [key: string]: unknown;
            };
            /** @description Whether it is the current run. */
            current: boolean;
            /** @description Seconds of wall time, until now if it is running. */
            duration: number | null;
            ended_at: string | null;
            /** @description The best scheduler; null if it is not known yet. */
            headline: components["schemas"]["Headline"] | null;
            /** Format: date-time */
            heartbeat_at: string;
            id: number;
            /**
             * @description live or comparison
             * @example live
             */
            kind: string;
            /** @description Number of the newest task that is stored. */
            last_task: number | null;
            /** @description Offered load at its start; null: a rate was given. */
            load: number | null;
            /** @description Whether its tasks really ran, rather than in simulated time. */
            measured: boolean;
            num_gpus: number | null;
            /** @description The server that ran it. */
            owner: string | null;
            rate: number | null;
            /** @description Schedulers at its start. */
            schedulers: string[];
            seed: number;
            /** @description The settings at its start. */
            settings: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            started_at: string;
            /**
             * @description running, finished, interrupted or failed; an experiment says more
             * @example finished
             */
            status: string;
            /** @description Its results; null while it is running. */
            summary: {
                [key: string]: unknown;
            } | null;
            /** @description Tasks so far, of a comparison those of all seeds; null: not known yet. */
            tasks: number | null;
            /** @description A name that a person gave it. */
            title: string | null;
            /** @description Version of this program. */
            version: string;
            /**
             * @description Preset or `upload:NAME@…` at its start.
             * @example mixed
             */
            workload: string;
        };
        /**
         * RunFigures
         * @description The figures of a run.
         */
        RunFigures: {
            /** @description How the intervals were made, for people. */
            explanation: string;
            /** @example comparison */
            kind: string;
            load: number | null;
            measures: components["schemas"]["MeasureInfo"][];
            /**
             * @description seeds: mean over the seeds, percentile bootstrap of 2000 resamples. batch_means: the tasks in their order are cut into batches of equal size, the first is dropped as warm-up, and the means of the others are resampled in the same way.
             * @enum {string}
             */
            method: "seeds" | "batch_means";
            num_gpus: number | null;
            rate: number | null;
            run_id: number;
            /** @description Best mean turnaround first. */
            schedulers: components["schemas"]["SchedulerEstimates"][];
            /** @description Seeds of a comparison; of a live run its one. */
            seeds: number[];
            /** @example finished */
            status: string;
            /** @description Tasks of a seed, or of a live run those that are stored. */
            tasks: number;
            title: string | null;
            /** @example mixed */
            workload: string;
        };
        /**
         * RunLine
         * @description A run in a list.
         */
        RunLine: {
            /** @description Whether it is the current run. */
            current: boolean;
            /** @description Seconds of wall time, until now if it is running. */
            duration: number | null;
            ended_at: string | null;
            /** @description The best scheduler; null if it is not known yet. */
            headline: components["schemas"]["Headline"] | null;
            id: number;
            /**
             * @description live or comparison
             * @example live
             */
            kind: string;
            /** @description Offered load at its start; null: a rate was given. */
            load: number | null;
            /** @description Whether its tasks really ran, rather than in simulated time. */
            measured: boolean;
            num_gpus: number | null;
            rate: number | null;
            /** @description Schedulers at its start. */
            schedulers: string[];
            seed: number;
            /** Format: date-time */
            started_at: string;
            /**
             * @description running, finished, interrupted or failed; an experiment says more
             * @example finished
             */
            status: string;
            /** @description Tasks so far, of a comparison those of all seeds; null: not known yet. */
            tasks: number | null;
            /** @description A name that a person gave it. */
            title: string | null;
            /** @description Version of this program. */
            version: string;
            /**
             * @description Preset or `upload:NAME@…` at its start.
             * @example mixed
             */
            workload: string;
        };
        /**
         * RunPage
         * @description Some runs, newest first.
         */
        RunPage: {
            /** @description Pass it as `after` for the next page; null: this is the last one. */
            next: number | null;
            runs: components["schemas"]["RunLine"][];
        };
        /**
         * SchedulerEntry
         * @description A line of the registry.
         */
        SchedulerEntry: {
            /** @description Takes part by default. */
            featured: boolean;
            /** @enum {string} */
            kind: "rule" | "random" | "learner" | "clairvoyant rule" | "clairvoyant search" | "reference" | "plug-in";
            /**
             * @description Its name for people, options included.
             * @example Hybrid ML
             */
            label: string;
            /** @example eft */
            name: string;
            /** @description Takes part now. */
            racing: boolean;
            /**
             * @description A few letters for narrow columns.
             * @example ML
             */
            short: string;
            /**
             * @description What it knows of the true execution times.
             * @example yes
             */
            sighted: string;
            style: components["schemas"]["Style"];
            /** @example whole task where it ends first (StarPU's dm) */
            summary: string;
        };
        /**
         * SchedulerEstimates
         * @description One scheduler of a run.
         */
        SchedulerEstimates: {
            /** @description By measure; unknown ones are left out. */
            estimates: {
                [key: string]: components["schemas"]["Estimate"];
            };
            /** @example eft */
            scheduler: string;
        };
        /**
         * SchedulerLoad
         * @description How busy one scheduler keeps the devices.
         */
        SchedulerLoad: {
            /** @description Seconds of work queued on the mean device. */
            backlog: number | null;
            /** @description Mean of the CPUs; null without any. */
            cpu: number | null;
            /** @description Mean of the GPUs that work; null without any. */
            gpu: number | null;
            name: string;
            queue_length: number;
            saturated: boolean;
            /** @description Busy share by device, 0 to 1. */
            utilisation: (number | null)[];
        };
        /**
         * SchedulerResult
         * @description The placement of one task by one scheduler, in one attempt.
         */
        SchedulerResult: {
            /**
             * @description Execution time, s.
             * @example 0.4
             */
            actual_time: number | null;
            /** @description 2 and more: started again because its GPU failed. */
            attempt: number;
            /**
             * @description Device that did it (of a split task the GPU), -1: none.
             * @example 2
             */
            device: number;
            /**
             * @description J
             * @example 20
             */
            energy_consumption: number | null;
            /**
             * @description USD
             * @example 0.0001
             */
            execution_cost: number | null;
            /**
             * @description When its last share ended.
             * @example 35
             */
            finish_time: number | null;
            /**
             * @description Share of the task on a GPU.
             * @example 0.75
             */
            gpu_fraction: number | null;
            /** @description Whether it really ran, rather than in simulated time. */
            measured: boolean;
            /**
             * @description Name of the scheduler.
             * @example oracle
             */
            scheduler_name: string;
            /**
             * @description When its first share started, simulated seconds.
             * @example 34.6
             */
            start_time: number | null;
            /**
             * @description 0 it ran; 1 it ran elsewhere than the scheduler said, because it does not fit there; 2 rejected, it needs more memory than any device has; 3 rejected, no device class can run it; 4 rejected, a task it depends on was rejected; 5 rejected, too many tasks were waiting already; 7 it has not started yet
             * @example 0
             */
            status: number;
            /**
             * @description Number of the task in its run.
             * @example 101
             */
            task_id: number;
            /**
             * @description From arrival to finish, s.
             * @example 0.5
             */
            turnaround_time: number | null;
            /**
             * @description Time in queues, s.
             * @example 0.1
             */
            waiting_time: number | null;
        };
        /**
         * SchedulerResultCreate
         * @description A result that was measured elsewhere, for a task that is stored already.
         */
        SchedulerResultCreate: {
            /**
             * @description Execution time, s.
             * @example 0.42
             */
            actual_time: number;
            /**
             * @description 2 and more: the task had to start again.
             * @default 1
             */
            attempt: number;
            /**
             * @description Device of the run's cluster, -1 if it was none of them.
             * @default -1
             */
            device: number;
            /**
             * @description J
             * @default 0
             * @example 21
             */
            energy_consumption: number;
            /**
             * @description USD
             * @default 0
             * @example 0.0001
             */
            execution_cost: number;
            /**
             * @description Share of the task that ran on a GPU.
             * @example 0.75
             */
            gpu_fraction: number;
            /**
             * @description Name of the scheduler.
             * @example my_cluster
             */
            scheduler_name: string;
            /**
             * @description Time between arrival and execution, s.
             * @default 0
             */
            waiting_time: number;
        };
        /**
         * SettingsAnswer
         * @description The settings and their possible values.
         */
        SettingsAnswer: {
            choices: components["schemas"]["Choices"];
            settings: components["schemas"]["LiveSettings"];
        };
        /**
         * SettingsChange
         * @description Settings to change; what is left out stays as it is.
         */
        "SettingsChange-Input": {
            /**
             * @description Weight of energy against time, 0 to 1.
             * @example 0.5
             */
            energy_weight?: number | null;
            /**
             * @description GPUs that do not work.
             * @example [
             *       1
             *     ]
             */
            failed_gpus?: number[] | null;
            /**
             * @description Offered load; replaces a rate.
             * @example 0.8
             */
            load?: number | null;
            /** @description Tasks that may wait in a lane; null: any number. */
            max_queue?: number | null;
            /**
             * @description Number of GPUs.
             * @example 4
             */
            num_gpus?: number | null;
            /** @description Tasks per second of wall time; null: as fast as possible. */
            pace?: number | null;
            /**
             * @description Workload: a preset, or `upload:NAME`.
             * @example long_tail
             */
            preset?: string | null;
            /**
             * @description Tasks per simulated second; replaces a load.
             * @example null
             */
            rate?: number | null;
            /**
             * @description Schedulers that take part.
             * @example [
             *       "greedy",
             *       "eft"
             *     ]
             */
            schedulers?: string[] | null;
            /** @description Seed of the tasks to come. */
            seed?: number | null;
        };
        /**
         * SettingsChange
         * @description A change of the settings during a run.
         */
        "SettingsChange-Output": {
            /** @description Before this task. */
            at_task: number;
            /** @description Simulated seconds. */
            at_time: number;
            /**
             * @example {
             *       "load": 1.2
             *     }
             */
            change: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            created_at: string;
        };
        /**
         * SizeDistribution
         * @description Histogram of the sizes of the last tasks (2000 at most).
         */
        SizeDistribution: {
            counts: number[];
            /** @description Edges of the bins; one more than there are counts. */
            edges: number[];
            /** @description Whether the edges of the sizes grow by factors, as they do if the largest is over 20 times the least. */
            log_sizes: boolean;
            /** @description Of the sizes. */
            quantiles: components["schemas"]["Quantiles"];
            tasks: number;
        };
        /**
         * Status
         * @description State of the simulation.
         */
        Status: {
            /**
             * @description Tasks per simulated second.
             * @example 40.5
             */
            arrival_rate: number | null;
            /** @description Lower bound: no schedule ends all tasks so far before this time. */
            bound: number | null;
            /**
             * @description Why it halted or failed; empty: it did not.
             * @example
             */
            error: string;
            /** @example true */
            is_running: boolean;
            /**
             * @description Whether tasks really run: execution times are measured then, and queues follow from them; else everything is simulated.
             * @example false
             */
            measured: boolean;
            /**
             * @description Present problem of the service; empty: none.
             * @example
             */
            notice: string;
            /** @example 3 */
            run_id: number | null;
            /**
             * @description Schedulers whose queue keeps growing.
             * @example [
             *       "round_robin"
             *     ]
             */
            saturated: string[];
            schedulers: string[];
            /**
             * @description Simulated seconds.
             * @example 12.5
             */
            sim_time: number;
            /**
             * @description none: no simulation has been started.
             * @example running
             * @enum {string}
             */
            state: "none" | "ready" | "running" | "paused" | "stopped" | "failed";
            /**
             * @description Of wall time, lately.
             * @example 20
             */
            tasks_per_second: number | null;
            /** @example 500 */
            tasks_processed: number;
        };
        /**
         * StepOrder
         * @description How many tasks to process.
         */
        StepOrder: {
            /**
             * @description Tasks to process.
             * @default 1
             * @example 10
             */
            tasks: number;
        };
        /**
         * StoredModel
         * @description A model that a run has trained.
         */
        StoredModel: {
            /** Format: date-time */
            created_at: string;
            id: number;
            path: string;
            run_id: number | null;
            /** @example hybrid_ml */
            scheduler_name: string;
            sha256: string;
            /** @description What it was trained on, and its validation errors. */
            training: {
                [key: string]: unknown;
            };
        };
        /**
         * Style
         * @description How a scheduler is drawn: by colour, marker and dash, never by colour alone.
         */
        Style: {
            dark: string;
            dark_text: string;
            dash: number[];
            light: string;
            /** @enum {string} */
            marker: "diamond" | "hexagon" | "triangle" | "square" | "circle" | "star" | "cross" | "pentagon" | "triangle_down" | "bar" | "ring" | "chevron" | "triangle_right" | "hourglass" | "parallelogram" | "bowtie" | "octagon" | "house" | "trapezoid" | "tee" | "notch" | "kite" | "arrow" | "ell" | "steps" | "crown" | "comb";
        };
        /**
         * Task
         * @description A task of a run.
         */
        Task: {
            /**
             * @description When it arrived, simulated seconds.
             * @example 34.5
             */
            arrival_time: number;
            /**
             * @description How much it gains from a GPU, 0 to 1.
             * @example 0.8
             */
            compute_intensity: number;
            /** @description Tasks that must end before it starts. */
            dependencies: number[];
            /**
             * @description Memory in MB.
             * @example 200
             */
            memory_required: number;
            /**
             * @description Problem size N.
             * @example 2500
             */
            size: number;
            /**
             * @description Number of the task in its run.
             * @example 101
             */
            task_id: number;
        };
        /**
         * TaskAudit
         * @description A task and all its results.
         */
        TaskAudit: {
            /**
             * @description Attempts by scheduler.
             * @example {
             *       "oracle": 1,
             *       "random": 2
             *     }
             */
            attempts: {
                [key: string]: number;
            };
            /** @description Why each scheduler decided as it did. Kept of the last 500 explained tasks, else empty; at up to 20 tasks a second all tasks are explained, else about 20 a second. */
            explanations: {
                [key: string]: components["schemas"]["Explanation"];
            };
            /**
             * @description The scheduler that ended it first.
             * @example oracle
             */
            fastest: string | null;
            /** @description Every attempt of every scheduler; of one that a failure cut short, the times that were planned. */
            results: components["schemas"]["SchedulerResult"][];
            run_id: number;
            task: components["schemas"]["Task"];
        };
        /**
         * TaskCreate
         * @description A task to submit.
         */
        TaskCreate: {
            /**
             * @description How much the task gains from a GPU, 0 to 1.
             * @example 0.8
             */
            compute_intensity: number;
            /**
             * @description Memory in MB; a task that fits nowhere is rejected.
             * @example 200
             */
            memory_required: number;
            /**
             * @description Problem size N.
             * @example 2500
             */
            size: number;
            /** @description A number of your own; the race numbers its tasks itself and returns its own number. */
            task_id?: number | null;
        };
        /**
         * TaskOutcome
         * @description A submitted task, and the decisions of all schedulers.
         */
        TaskOutcome: {
            /** @description By scheduler. */
            decisions: {
                [key: string]: components["schemas"]["Verdict"];
            };
            /** @description Best share on a GPU, were the cluster idle. */
            optimal_gpu_fraction: number | null;
            /** @description Execution time of that split, s. */
            optimal_time: number | null;
            run_id: number | null;
            task: components["schemas"]["Task"];
            /** @description The number that came with the request. */
            your_id: number | null;
        };
        /**
         * TaskPage
         * @description Some tasks of a run.
         */
        TaskPage: {
            /** @description Pass it as `after` for the next page; null: this is the last one. */
            next: number | null;
            /** @description The run; null if there is none yet. */
            run_id: number | null;
            tasks: components["schemas"]["Task"][];
        };
        /**
         * TrainingRecord
         * @description A training example: a task and its best split, found by exhaustive search.
         */
        TrainingRecord: {
            compute_intensity: number;
            id: number;
            memory_required: number;
            /**
             * @description Best share on a GPU, 0 to 1.
             * @example 0.75
             */
            optimal_gpu_fraction: number;
            /**
             * @description Execution time of that split, s.
             * @example 0.38
             */
            optimal_time: number;
            run_id: number;
            size: number;
            task_id: number;
        };
        /**
         * Utilization
         * @description Busy shares by scheduler and device.
         */
        Utilization: {
            devices: components["schemas"]["Device"][];
            schedulers: components["schemas"]["SchedulerLoad"][];
            /** @description Length of the window, simulated seconds. */
            seconds: number;
            sim_time: number;
        };
        /**
         * Verdict
         * @description One scheduler's decision about a submitted task.
         */
        Verdict: {
            explanation: components["schemas"]["Explanation"];
            result: components["schemas"]["SchedulerResult"];
        };
        /**
         * WinMatrix
         * @description Pairwise wins over the last tasks (2000 at most).
         */
        WinMatrix: {
            schedulers: string[];
            /** @description [i][j]: of the tasks that one of the two ended first, i's share. */
            share: (number | null)[][];
            tasks: number;
            /** @description [i][j]: tasks that scheduler i ended before scheduler j. */
            wins: number[][];
        };
        /**
         * WindowFigures
         * @description Averages over the last tasks, 1000 at most.
         */
        WindowFigures: {
            /** @description Execution time, s. */
            avg_time: number | null;
            /** @description USD per task */
            cost: number | null;
            /** @description J per task */
            energy: number | null;
            /** @description Mean share of a task on a GPU. */
            gpu_share: number | null;
            /** @description From arrival to finish, s. */
            mean_turnaround: number | null;
            mean_waiting: number | null;
            p50_turnaround: number | null;
            p95_turnaround: number | null;
            p99_turnaround: number | null;
            tasks: number;
        };
        /**
         * WorkloadLine
         * @description A workload in a list.
         */
        WorkloadLine: {
            /** @description Size of the file; null for a preset. */
            bytes: number | null;
            /** @description Whether tasks depend on others. */
            dependencies: boolean;
            /** @description From the first arrival to the last, s; null for a preset. */
            duration: number | null;
            /**
             * @description Of the file; null for a preset.
             * @example csv
             */
            format: string | null;
            /** @description Whether an experiment needs it, or the live run, which may be replayed with it; then it stays. */
            in_use: boolean;
            /** @enum {string} */
            kind: "upload" | "preset";
            /** @description Whether the live race can run on it. */
            live: boolean;
            /** @example trace.csv */
            name: string;
            /**
             * @description Why the live race cannot run on it; empty: it can.
             * @example
             */
            obstacle: string;
            /** @description Of the file; null for a preset. */
            sha256: string | null;
            /**
             * @description Its name in settings and experiments.
             * @example upload:trace.csv
             */
            spec: string;
            /**
             * @description What a preset is; empty for a file.
             * @example
             */
            summary: string;
            /**
             * @description In the file; of a preset as many as its statistics are made of.
             * @example 5000
             */
            tasks: number;
            /** @description null for a preset */
            uploaded_at: string | null;
        };
        /**
         * WorkloadShape
         * @description Statistics of a workload; a preset is generated with seed 0.
         */
        WorkloadShape: {
            /** @description Tasks a second; null if all arrive at once. */
            arrival_rate: number | null;
            arrivals: components["schemas"]["Arrivals"];
            /** @description Certified lower bound of the makespan, s; null if there are too many tasks to compute it. */
            bound: number | null;
            /** @description Standard deviation of the gaps between arrivals over their mean; a Poisson stream has 1. */
            burstiness: number | null;
            /** @description Size of the file; null for a preset. */
            bytes: number | null;
            compute_intensity: components["schemas"]["Distribution"];
            /** @description Whether tasks depend on others. */
            dependencies: boolean;
            /** @description Share of tasks that depend on others. */
            dependency_share: number;
            /** @description From the first arrival to the last, s; null for a preset. */
            duration: number | null;
            /**
             * @description Of the file; null for a preset.
             * @example csv
             */
            format: string | null;
            /** @description Tasks that are faster whole on a GPU than on a CPU, 0 to 1. */
            gpu_faster_share: number | null;
            /** @description Whether an experiment needs it, or the live run, which may be replayed with it; then it stays. */
            in_use: boolean;
            /** @enum {string} */
            kind: "upload" | "preset";
            /** @description Whether the live race can run on it. */
            live: boolean;
            /** @description Device classes for which the file has measured times. */
            measured_classes: string[];
            memory_required: components["schemas"]["Distribution"];
            /** @example trace.csv */
            name: string;
            /** @description GPUs of the server's cluster, to which load, share and bound apply. */
            num_gpus: number;
            /**
             * @description Why the live race cannot run on it; empty: it can.
             * @example
             */
            obstacle: string;
            /** @description Work that arrives over the capacity of the cluster; null if all arrive at once. */
            offered_load: number | null;
            /** @description Of the file; null for a preset. */
            sha256: string | null;
            size: components["schemas"]["Distribution"];
            /** @description Seconds from the first arrival to the last. */
            span: number;
            /**
             * @description Its name in settings and experiments.
             * @example upload:trace.csv
             */
            spec: string;
            /**
             * @description What a preset is; empty for a file.
             * @example
             */
            summary: string;
            /**
             * @description In the file; of a preset as many as its statistics are made of.
             * @example 5000
             */
            tasks: number;
            /** @description Tasks that no device of the cluster can run, 0 to 1. */
            unfit_share: number;
            /** @description null for a preset */
            uploaded_at: string | null;
        };
        /**
         * Workloads
         * @description All workloads, files first.
         */
        Workloads: {
            /**
             * @description Files that can be read.
             * @example [
             *       "csv",
             *       "parquet"
             *     ]
             */
            formats: string[];
            /**
             * @description Largest file that can be uploaded.
             * @example 50000000
             */
            most_bytes: number;
            /** @description Files in the folder that cannot be used, and why. */
            problems: string[];
            workloads: components["schemas"]["WorkloadLine"][];
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    options_api_clusters_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClusterOptions"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    simulated_api_clusters_run_get: {
        parameters: {
            query?: {
                /** @description A preset of jobs. */
                workload?: string;
                /** @description How the queue is sorted. */
                order?: string;
                /** @description Who may pass the head: none or easy. */
                backfill?: string;
                /** @description How nodes are chosen. */
                fit?: string;
                /** @description How many jobs. */
                jobs?: number;
                seed?: number;
                /** @description Share of the nodes that leave and return. */
                spot?: number;
                /** @description Name of a kept run, in place of all these. */
                kept?: string;
                /** @description One of its policies; the first if empty. */
                policy?: string;
                /** @description Number of one of its windows. */
                window?: number;
                /** @description Number of the page; the last if there are fewer. */
                page?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClusterRun"];
                };
            };
            /** @description A setting or name that does not exist or cannot be used; the message names it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    compare_api_compare_get: {
        parameters: {
            query: {
                /** @description Two to eight runs, with commas. */
                runs: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunComparison"];
                };
            };
            /** @description A setting or name that does not exist or cannot be used; the message names it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description It is not there. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in the present state: no simulation has been started, or another one is under way. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    comparison_api_comparison_get: {
        parameters: {
            query?: {
                /** @description Figure of the last tasks to rank by; less is better. */
                by?: "mean_turnaround" | "p95_turnaround" | "avg_time" | "mean_waiting" | "energy" | "cost";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Comparison"];
                };
            };
            /** @description Not in the present state: no simulation has been started, or another one is under way. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    sizes_api_distribution_sizes_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SizeDistribution"];
                };
            };
            /** @description Not in the present state: no simulation has been started, or another one is under way. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    page_api_experiments_get: {
        parameters: {
            query?: {
                /** @description `next` of the page before. */
                after?: number | null;
                /** @description Experiments at most. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExperimentPage"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    create_api_experiments_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ExperimentCreate"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Experiment"];
                };
            };
            /** @description A setting or name that does not exist or cannot be used; the message names it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The control token is missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description This page may not send commands, or the server has no control token. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in the present state: no simulation has been started, or another one is under way. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    detail_api_experiments__experiment_id__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Number of the experiment. */
                experiment_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Experiment"];
                };
            };
            /** @description It is not there. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    cancel_api_experiments__experiment_id__delete: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Number of the experiment. */
                experiment_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Experiment"];
                };
            };
            /** @description A setting or name that does not exist or cannot be used; the message names it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The control token is missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description This page may not send commands, or the server has no control token. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description It is not there. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in the present state: no simulation has been started, or another one is under way. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    full_history_api_full_history_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TrainingRecord"][];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    health_api_health_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    heatmap_api_heatmap_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Heatmap"];
                };
            };
            /** @description Not in the present state: no simulation has been started, or another one is under way. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    comparative_api_history_comparative_get: {
        parameters: {
            query?: {
                /** @description Results; a task has one for each scheduler. */
                limit?: number;
                /** @description Number of a run; default: the current run, else the newest one. */
                run?: number | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HistoryRow"][];
                };
            };
            /** @description It is not there. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    correlation_api_matrix_correlation_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CorrelationMatrix"];
                };
            };
            /** @description Not in the present state: no simulation has been started, or another one is under way. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    wins_api_matrix_wins_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WinMatrix"];
                };
            };
            /** @description Not in the present state: no simulation has been started, or another one is under way. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    metrics_api_metrics_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    models_api_models_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Models"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    pause_api_pause_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Status"];
                };
            };
            /** @description A setting or name that does not exist or cannot be used; the message names it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The control token is missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description This page may not send commands, or the server has no control token. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in the present state: no simulation has been started, or another one is under way. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    resume_api_resume_post: {
        parameters: {
            query?: {
                /** @description Pause before the first task, to continue step by step. */
                paused?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ResumeOrder"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Status"];
                };
            };
            /** @description A setting or name that does not exist or cannot be used; the message names it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The control token is missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description This page may not send commands, or the server has no control token. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description It is not there. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in the present state: no simulation has been started, or another one is under way. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    page_api_runs_get: {
        parameters: {
            query?: {
                /** @description `next` of the page before. */
                after?: number | null;
                /** @description Runs at most. */
                limit?: number;
                /** @description Only runs of this kind. */
                kind?: ("live" | "comparison") | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunPage"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    detail_api_runs__run_id__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Number of the run. */
                run_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunDetail"];
                };
            };
            /** @description It is not there. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    remove_api_runs__run_id__delete: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Number of the run. */
                run_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Removed"];
                };
            };
            /** @description A setting or name that does not exist or cannot be used; the message names it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The control token is missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description This page may not send commands, or the server has no control token. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description It is not there. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in the present state: no simulation has been started, or another one is under way. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    rename_api_runs__run_id__patch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Number of the run. */
                run_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RunChange"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunLine"];
                };
            };
            /** @description A setting or name that does not exist or cannot be used; the message names it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The control token is missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description This page may not send commands, or the server has no control token. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description It is not there. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in the present state: no simulation has been started, or another one is under way. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    download_api_runs__run_id__export_get: {
        parameters: {
            query?: {
                /** @description CSV or Parquet. */
                format?: "csv" | "parquet";
            };
            header?: never;
            path: {
                /** @description Number of the run. */
                run_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/vnd.apache.parquet": string;
                    "text/csv": string;
                };
            };
            /** @description It is not there. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in the present state: no simulation has been started, or another one is under way. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    figures_api_runs__run_id__figures_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Number of the run. */
                run_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunFigures"];
                };
            };
            /** @description It is not there. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in the present state: no simulation has been started, or another one is under way. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    resume_api_runs__run_id__resume_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Number of the run. */
                run_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Resumed"];
                };
            };
            /** @description A setting or name that does not exist or cannot be used; the message names it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The control token is missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description This page may not send commands, or the server has no control token. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description It is not there. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in the present state: no simulation has been started, or another one is under way. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    schedulers_api_schedulers_get: {
        parameters: {
            query?: {
                /** @description More specs to describe: with options, from files, not installed. */
                also?: string[] | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SchedulerEntry"][];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    schema_api_schema_ws_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    pause_api_simulation_pause_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Status"];
                };
            };
            /** @description A setting or name that does not exist or cannot be used; the message names it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The control token is missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description This page may not send commands, or the server has no control token. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in the present state: no simulation has been started, or another one is under way. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    resume_api_simulation_resume_post: {
        parameters: {
            query?: {
                /** @description Pause before the first task, to continue step by step. */
                paused?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ResumeOrder"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Status"];
                };
            };
            /** @description A setting or name that does not exist or cannot be used; the message names it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The control token is missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description This page may not send commands, or the server has no control token. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description It is not there. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in the present state: no simulation has been started, or another one is under way. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    settings_api_simulation_settings_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SettingsAnswer"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    change_api_simulation_settings_patch: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SettingsChange-Input"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangeAnswer"];
                };
            };
            /** @description A setting or name that does not exist or cannot be used; the message names it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The control token is missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description This page may not send commands, or the server has no control token. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in the present state: no simulation has been started, or another one is under way. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    start_api_simulation_start_post: {
        parameters: {
            query?: {
                /** @description Pause before the first task, to continue step by step. */
                paused?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["SettingsChange-Input"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Status"];
                };
            };
            /** @description A setting or name that does not exist or cannot be used; the message names it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The control token is missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description This page may not send commands, or the server has no control token. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in the present state: no simulation has been started, or another one is under way. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    status_api_simulation_status_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Status"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    step_api_simulation_step_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["StepOrder"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Status"];
                };
            };
            /** @description A setting or name that does not exist or cannot be used; the message names it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The control token is missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description This page may not send commands, or the server has no control token. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in the present state: no simulation has been started, or another one is under way. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    stop_api_simulation_stop_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Status"];
                };
            };
            /** @description A setting or name that does not exist or cannot be used; the message names it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The control token is missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description This page may not send commands, or the server has no control token. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in the present state: no simulation has been started, or another one is under way. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    status_api_status_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Status"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    page_api_tasks_get: {
        parameters: {
            query?: {
                /** @description `next` of the page before. */
                after?: number | null;
                /** @description Tasks at most. */
                limit?: number;
                /** @description Number of a run; default: the current run, else the newest one. */
                run?: number | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskPage"];
                };
            };
            /** @description It is not there. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    create_api_tasks_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TaskCreate"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskOutcome"];
                };
            };
            /** @description A setting or name that does not exist or cannot be used; the message names it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The control token is missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description This page may not send commands, or the server has no control token. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in the present state: no simulation has been started, or another one is under way. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    audit_api_tasks__task_id__get: {
        parameters: {
            query?: {
                /** @description Number of a run; default: the current run, else the newest one. */
                run?: number | null;
            };
            header?: never;
            path: {
                /** @description Number of the task in its run. */
                task_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskAudit"];
                };
            };
            /** @description It is not there. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    create_api_tasks__task_id__results_post: {
        parameters: {
            query?: {
                /** @description Number of a run; default: the current run, else the newest one. */
                run?: number | null;
            };
            header?: never;
            path: {
                /** @description Number of the task in its run. */
                task_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SchedulerResultCreate"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SchedulerResult"];
                };
            };
            /** @description A setting or name that does not exist or cannot be used; the message names it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The control token is missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description This page may not send commands, or the server has no control token. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description It is not there. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in the present state: no simulation has been started, or another one is under way. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    utilization_api_utilization_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Utilization"];
                };
            };
            /** @description Not in the present state: no simulation has been started, or another one is under way. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    listed_api_workloads_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workloads"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    upload_api_workloads_post: {
        parameters: {
            query: {
                /** @description Name for the workload. */
                name: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkloadLine"];
                };
            };
            /** @description A setting or name that does not exist or cannot be used; the message names it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The control token is missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description This page may not send commands, or the server has no control token. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in the present state: no simulation has been started, or another one is under way. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    detail_api_workloads__name__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of the workload. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkloadShape"];
                };
            };
            /** @description A setting or name that does not exist or cannot be used; the message names it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description It is not there. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in the present state: no simulation has been started, or another one is under way. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    remove_api_workloads__name__delete: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of the workload. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Removed"];
                };
            };
            /** @description A setting or name that does not exist or cannot be used; the message names it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The control token is missing or wrong. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description This page may not send commands, or the server has no control token. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description It is not there. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in the present state: no simulation has been started, or another one is under way. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    download_api_workloads__name__file_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of the workload. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description A setting or name that does not exist or cannot be used; the message names it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description It is not there. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A value that cannot be used; the message names it. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Too many requests. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The database does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
}
