"""A model API on loopback that answers as the prompt tells it, for real agent CLIs without a network.

It speaks Anthropic Messages, OpenAI Responses and Gemini at once, and records every call. Callers own the
prompts, which carry the script (see `script`), and the CLIs' configuration.

Besides the vendors' paths there is a control surface for tests in other processes:

    GET  /_mock/health
    GET  /_mock/requests?since=N    the calls after the N-th, as `Record` has them
    POST /_mock/release             let every held answer go on
    POST /_mock/next   {step}       answer the next main call with this, whatever its prompt says
    POST /_mock/reset               forget calls, queued steps and failures
"""

from posthouse.testing.model_api.recording import Record
from posthouse.testing.model_api.script import Step
from posthouse.testing.model_api.server import ModelApi, running, serve

__all__ = ["ModelApi", "Record", "Step", "running", "serve"]
