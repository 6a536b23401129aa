/** Orders whose refusal is shown where they were given, rather than in a corner. */
import { ApiError } from '@/api/client';
import { useCommands } from '@/app/orders';

/** Try; hand on the answer or the problem. A missing token is asked for, and the order then given again. */
export async function tryCommand<T>(act: () => Promise<T>, done: (answer: T) => void, refused: (problem: ApiError) => void): Promise<void> {
  try {
    done(await act());
  } catch (error) {
    const problem = error instanceof ApiError ? error : new ApiError(String(error), '', 0);
    if (problem.status === 401) useCommands.setState({ awaitingToken: () => void tryCommand(act, done, refused) });
    else refused(problem);
  }
}
