"""A small file of every format, made here: what the conformance tests read, pack, cut off and garble.

A sample writes its files into a folder and returns their paths, the main file first.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hybrid_scheduler.core import Tasks
from hybrid_scheduler.core.tasks import edges_from_ids
from hybrid_scheduler.workloads.formats import csv, parquet
from workloads.formats import instances
from workloads.formats.instances import write_file

Sample = Callable[[Path], list[Path]]


def own_tasks() -> Tasks:
    """Return tasks with every kind of column."""
    return Tasks.build(
        size=[100.0, 250.5, 1e3],
        compute_intensity=[0.1, 0.5, 1.0],
        memory_required=[10.0, 20.0, 0.1 + 0.2],
        arrival_time=[0.0, 1.5, 2.0],
        task_id=[7, 8, 9],
        edges=edges_from_ids([7, 8, 9], [[], [7], [7, 8]], [[], [0.5], [0.25, 3.0]]),
        measured={"cpu": [0.1, 0.2, float("inf")], "gpu": [float("nan"), 0.1, 0.3]},
        expected={"cpu": [0.2, 0.2, 0.2]},
        features={"bytes": [1.0, float("nan"), 3.0]},
    )


def csv_file(folder: Path) -> list[Path]:
    """Write our own tasks as text."""
    csv.write(own_tasks(), folder / "tasks.csv")
    return [folder / "tasks.csv"]


def parquet_file(folder: Path) -> list[Path]:
    """Write the same as Parquet."""
    parquet.write(own_tasks(), folder / "tasks.parquet")
    return [folder / "tasks.parquet"]


PODS = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
p0,12000,16384,1,1000,,LS,Running,100,1100,100
p1,6000,12288,1,500,V100|T4,LS,Running,150,350,250
p2,32000,65536,4,1000,,BE,Failed,200,300,200
p3,8000,4096,0,0,,LS,Succeeded,210,310,210
p4,6000,12288,1,460,,LS,Pending,220,900,
p5,1000,1024,1,1000,,LS,Succeeded,230,400,400
p6,1000,1024,1,1000,A100,LS,Succeeded,240,440,400
"""
NODES = """sn,cpu_milli,memory_mib,gpu,model
n0,32000,262144,0,
n1,64000,131072,4,V100
n2,16000,65536,2,T4
n3,64000,131072,4,V100
"""


def alibaba_files(folder: Path) -> list[Path]:
    """Write a few pods and nodes."""
    return [write_file(folder / "pods.csv", PODS), write_file(folder / "nodes.csv", NODES)]


SWF = """; Version: 2.2
; MaxNodes: 4
; MaxProcs: 16
;
1   10  5  100   4   90  1024   4   200  2048  1   1 1 1 1 -1 -1 -1
2   20  5  50    8   40  -1     8   -1   -1    -1  2 1 1 1 -1 -1 -1
3   30  5  60    2   50  -1     2   100  -1    0   2 1 1 1 -1 -1 -1
4   40  5  -1    -1  -1  -1     2   100  -1    5   2 1 1 1 -1 -1 -1
5   50  0  0     1   0   -1     1   100  -1    1   2 1 1 1 -1 -1 -1
6   60  0  10    -1  -1  -1     3   20   -1    1   2 1 1 1 -1 -1 -1
7   70  0  -1    2   -1  -1     3   20   -1    1   2 1 1 1 -1 -1 -1
"""


def swf_file(folder: Path) -> list[Path]:
    """Write a log of seven jobs, four of which are skipped."""
    return [write_file(folder / "log.swf", SWF)]


PHILLY = """jobid,vc,user,status,submitted_time,duration,num_gpus
a,v1,u1,Pass,2017-10-03 08:00:00,120,1
b,v1,u1,Killed,2017-10-03 08:01:00,30.5,4
c,v2,u2,Failed,2017-10-03 08:02:30,0,1
d,v2,u2,Pass,2017-10-03 08:03:00,,2
e,v2,u3,Pass,2017-10-03 08:04:00,60,0
"""


def philly_file(folder: Path) -> list[Path]:
    """Write five jobs."""
    return [write_file(folder / "jobs.csv", PHILLY)]


REQUESTS = """app,func,end_timestamp,duration,memory
a,f,10.5,0.5,128
a,g,11.0,0.25,
b,f,11.5,0,64
b,f,12.0,2.0,256
"""


def requests_file(folder: Path) -> list[Path]:
    """Write four requests."""
    return [write_file(folder / "requests.csv", REQUESTS)]


BURSTGPT = """\
Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type
19440110.0,s1,43,GPT-4,906,446,1352,Conversation log
19440161.0,s2,2,ChatGPT,36,29,65,Conversation log
19440192.5,s1,0,GPT-4,1500,0,1500,API log
"""


def llm_file(folder: Path) -> list[Path]:
    """Write three requests, one of which failed."""
    return [write_file(folder / "burst.csv", BURSTGPT)]


GENAI = """\
gmt_create,predict_type,predict_status,exec_time_seconds,groupId,prompt_length,negative_prompt_length,\
num_images_per_prompt,num_inference_steps,checkpoint_model_version_id,num_lora
2024-11-15 16:57:50,TXT_2_IMG,SUCCEED,32.0,G0000,63.0,26.0,1.0,30.0,M0000,0
2024-11-15 18:16:14,IMG_2_IMG,SUCCEED,43.0,G0001,93.0,,8.0,40.0,M0001,1
2024-11-15 18:17:06,TXT_2_IMG,FAILED,3.0,G0001,93.0,,8.0,40.0,M0001,0
2024-11-15 18:17:16,TXT_2_IMG,PROCESSING,,G0001,93.0,,8.0,40.0,M0001,0
"""


def genai_file(folder: Path) -> list[Path]:
    """Write four requests for images, two of which ended well."""
    return [write_file(folder / "lora_request_trace.csv", GENAI)]


SPOT_JOBS = """\
job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,job_type
239255,13,A10,20,1,1,0,2764,HP
437260,57,A100-SXM4-80GB,15,2,3,9589,410,Spot
437261,57,A10,15,0.5,1,9600,100,Spot
437262,57,A10,15,1,1,9700,0,Spot
"""
SPOT_NODES = "gpu_model,gpu_capacity_num,cpu_num,node_name\nA10,1,128,0\nA100-SXM4-80GB,8,128,1\nH800,8,192,2\n"


def spot_files(folder: Path) -> list[Path]:
    """Write four jobs, one of which did nothing, and three nodes."""
    return [write_file(folder / "job_info_df.csv", SPOT_JOBS), write_file(folder / "node_info_df.csv", SPOT_NODES)]


SAMPLES: dict[str, Sample] = {
    "csv": csv_file,
    "parquet": parquet_file,
    "alibaba": alibaba_files,
    "swf": swf_file,
    "philly": philly_file,
    "requests": requests_file,
    "llm": llm_file,
    "genai": genai_file,
    "spot": spot_files,
    "wfcommons": instances.wfcommons_file,
    "etc": instances.etc_file,
    "kernels": instances.kernels_file,
    "starpu": instances.starpu_file,
    "starpu_models": instances.starpu_model_files,
    "gavel": instances.gavel_file,
}
"""By name of the format; a test fails if a format of the registry has none."""
