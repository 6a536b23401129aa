/** Orders whose refusal is shown where they were given, rather than in a corner. */
import { Problem } from '@/api/client';
import { useOrders } from '@/app/orders';

/** Try; hand on the answer or the problem. A missing token is asked for, and the order then given again. */
export async function attempt<T>(act: () => Promise<T>, done: (answer: T) => void, refused: (problem: Problem) => void): Promise<void> {
  try {
    done(await act());
  } catch (error) {
    const problem = error instanceof Problem ? error : new Problem(String(error), '', 0);
    if (problem.status === 401) useOrders.setState({ waiting: () => void attempt(act, done, refused) });
    else refused(problem);
  }
}
