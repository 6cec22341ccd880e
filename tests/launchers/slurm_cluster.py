"""Two Slurm nodes on this machine, with sham GPUs, in a folder of their own: munge, slurmctld and two slurmd that end with the block."""

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "sinfo", "scancel")


def missing():
    """What is not installed, or why it cannot run."""
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    absent = [program for program in PROGRAMS if shutil.which(program) is None]
    return ", ".join(absent) or ("root" if os.geteuid() != 0 else "")


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class SlurmCluster:
    NODES = ("one", "two")
    GPUS = 2

    def __init__(self, folder):
        self.folder = Path(folder)
        self.running = []

    def __enter__(self):
        try:
            self._configure()
            socket_file = self.folder / "munge.socket"
            self._start("munged", "--foreground", "--force", f"--socket={socket_file}", f"--key-file={self.folder / 'munge.key'}",
                        f"--pid-file={self.folder / 'munged.pid'}", f"--log-file={self.folder / 'munged.log'}",
                        f"--seed-file={self.folder / 'munged.seed'}")
            self._wait(socket_file.exists, "munged")
            self._start("slurmctld", "-D", "-i", "-f", self.folder / "slurm.conf")
            for node in self.NODES:
                self._start("slurmd", "-D", "-N", node, "-f", self.folder / "slurm.conf")
            self._wait(lambda: self._idle() == len(self.NODES), "slurmd")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.running):
            process.send_signal(signal.SIGTERM)
        for process in reversed(self.running):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def environment(self, **more):
        return {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf"), **more}

    def run(self, *command, **options):
        return subprocess.run([str(word) for word in command], env=self.environment(**options.pop("env", {})), text=True, timeout=300,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **options)

    def log(self):
        return "".join(file.read_text(errors="replace")[-1000:] for file in sorted(self.folder.glob("*.log")))

    def _configure(self):
        (self.folder / "munge.key").write_bytes(os.urandom(1024))
        (self.folder / "munge.key").chmod(0o400)
        self.folder.chmod(0o755)
        (self.folder / "state").mkdir()
        control, *ports = free_ports(1 + len(self.NODES))
        host = socket.gethostname().split(".")[0]
        cores = os.cpu_count()
        nodes = "".join(f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cores} Gres=gpu:{self.GPUS} State=UNKNOWN\n"
                        for node, port in zip(self.NODES, ports))
        (self.folder / "slurm.conf").write_text(f"""ClusterName=hone
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={self.folder}/munge.socket
CryptoType=crypto/munge
SlurmctldPort={control}
SlurmctldPidFile={self.folder}/slurmctld.pid
SlurmctldLogFile={self.folder}/slurmctld.log
SlurmdPidFile={self.folder}/slurmd-%n.pid
SlurmdLogFile={self.folder}/slurmd-%n.log
SlurmdSpoolDir={self.folder}/spool-%n
SlurmdParameters=config_overrides
StateSaveLocation={self.folder}/state
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
GresTypes=gpu
MailProg=/bin/true
{nodes}PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:8
""")
        # Devices that are only names: slurmd counts their files.
        gpus = {(node, gpu): self.folder / f"{node}-gpu{gpu}" for node in self.NODES for gpu in range(self.GPUS)}
        for file in gpus.values():
            file.touch()
        (self.folder / "gres.conf").write_text(
            "AutoDetect=off\n" + "".join(f"NodeName={node} Name=gpu File={file}\n" for (node, _), file in gpus.items()))

    def _start(self, *command):
        log = open(self.folder / f"{Path(command[0]).name}-{len(self.running)}.out.log", "wb")
        self.running.append(subprocess.Popen([str(word) for word in command], env=self.environment(), stdout=log, stderr=subprocess.STDOUT,
                                             stdin=subprocess.DEVNULL))
        log.close()

    def _idle(self):
        return self.run("sinfo", "--noheader", "--Node", "--format=%N %T").stdout.count("idle")

    def _wait(self, ready, what):
        for _ in range(600):
            if ready():
                return
            ended = [process.args[0] for process in self.running if process.poll() is not None]
            if ended:
                raise RuntimeError(f"{ended[0]} ended at once:\n{self.log()}")
            time.sleep(0.1)
        raise RuntimeError(f"{what} does not begin:\n{self.log()}")
