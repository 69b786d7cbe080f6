"""One death: who dies, where, and what is going on; and what was found afterwards."""

from typing import Literal

from posthouse.contracts.strict import Count, NonBlank, PositiveInt, Strict

AgentKind = Literal["tui", "headless"]
#: Who dies: the gateway, the bridge of a headless turn, or whoever attaches or detaches.
Victim = Literal["gateway", "bridge", "caller"]
Verdict = Literal["kept", "uncertain", "lost", "twice", "lied"]
#: A step of no name: the victim is killed after so many milliseconds, wherever it is then.
ANY_MOMENT = "any moment"
#: In the order in which a table shows them.
VERDICTS: tuple[Verdict, ...] = ("kept", "uncertain", "lost", "twice", "lied")
WRONG: tuple[Verdict, ...] = ("lost", "twice", "lied")


class Trial(Strict, frozen=True, kw_only=True):
    """Kill *victim* when it reaches *step* for the *time*-th time during *scenario*."""

    scenario: NonBlank
    agent: AgentKind
    victim: Victim
    step: NonBlank
    time: PositiveInt = 1

    @property
    def fuse(self) -> str:
        return f"{self.step}#{self.time}"


class Result(Strict, frozen=True, kw_only=True):
    """What became of a trial."""

    trial: Trial
    #: False: the step was not reached, and the victim was killed when all was done.
    died_there: bool
    #: Of every prompt that somebody asked for.
    verdicts: list[Verdict]
    #: What is wrong, or not known, for a person.
    notes: list[str]
    seconds: float


class Steps(Strict, frozen=True, kw_only=True):
    """How often a victim reaches each step when it is let live."""

    scenario: NonBlank
    agent: AgentKind
    victim: Victim
    steps: dict[str, Count]
