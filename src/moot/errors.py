"""The errors: one stable code per class, and a sentence that a person understands."""

from typing import Any, ClassVar


class MootError(Exception):
    """The base class. `code` never changes; the message says what is wrong and how to fix it."""

    code: ClassVar[str]

    @property
    def message(self) -> str:
        return str(self)


class InputError(MootError):
    """The request is not valid; `field` names the part that is wrong."""

    code = "DEBATE_ERR_INPUT"

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class NotFoundError(InputError):
    """There is no debate, format or agent with that name."""


class StateError(MootError):
    """The debate's state does not allow this."""

    code = "DEBATE_ERR_STATE"


class ConflictError(StateError):
    """The idempotency key was already used for another request."""


class StorageError(MootError):
    """The home, its database or a file in it cannot be used."""

    code = "DEBATE_ERR_STORAGE"


class DuplicateError(StorageError):
    """A row with that key already exists."""


class PacketError(MootError):
    """A decision packet is not valid."""

    code = "DEBATE_ERR_PACKET"


class BudgetError(MootError):
    """The debate has used up its tokens or its money."""

    code = "DEBATE_ERR_BUDGET"


class CancelledError(MootError):
    """The call was cancelled before its answer was complete."""

    code = "DEBATE_ERR_CANCELLED"


class ProviderError(MootError):
    """A model call gave no usable answer."""

    code = "DEBATE_ERR_PROVIDER_UNAVAILABLE"
    retryable: ClassVar[bool] = True
    """Whether the same call, unchanged, may succeed later."""
    cut: bool = False
    """Whether the token limit is to blame: with more tokens, the same call may succeed."""
    shorter: ClassVar[bool] = False
    """Whether a shorter prompt may succeed."""

    def __init__(
        self,
        message: str,
        *,
        retry_after: float | None = None,
        input_tokens: int = 0,
        output_tokens: int = 0,
        cost_usd: float = 0.0,
        estimated: bool = False,
        thinking_tokens: int = 0,
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after  # seconds that the provider asks us to wait
        self.input_tokens = input_tokens  # what the failed call used
        self.output_tokens = output_tokens
        self.cost_usd = cost_usd
        self.estimated = estimated  # the provider did not report it
        self.thinking_tokens = thinking_tokens  # of the output


class ProviderUnavailableError(ProviderError):
    """There is no connection, the server failed, or the stream was cut off."""


class ProviderAbsentError(ProviderUnavailableError):
    """The model cannot be started; a person has to fix that."""

    retryable = False


class ProviderAuthError(ProviderError):
    """The key is missing or was refused."""

    code = "DEBATE_ERR_PROVIDER_AUTH"
    retryable = False


class ProviderRateLimitError(ProviderError):
    """The provider asks for slower calls."""

    code = "DEBATE_ERR_PROVIDER_RATE_LIMIT"


class ProviderAllowanceError(ProviderRateLimitError):
    """One call takes more tokens than the account may use in a minute, however long one waits."""

    shorter = True


class ProviderTimeoutError(ProviderError):
    """The speaker was silent, or spoke, for too long."""

    code = "DEBATE_ERR_PROVIDER_TIMEOUT"


class ProviderRefusedError(ProviderError):
    """The model declined to answer. Asking again in the same words rarely helps."""

    code = "DEBATE_ERR_PROVIDER_REFUSED"
    retryable = False


class ProviderEmptyError(ProviderError):
    """Nothing was left of the answer after cleaning."""

    code = "DEBATE_ERR_PROVIDER_EMPTY"


class ProviderUnsaidError(ProviderEmptyError):
    """The tokens were used up before a word was said."""

    cut = True


class ProviderInvalidError(ProviderError):
    """The answer, or the response that carried it, did not have the expected shape."""

    code = "DEBATE_ERR_PROVIDER_INVALID"


class ProviderRejectedError(ProviderInvalidError):
    """The provider rejected the request, and would reject it again."""

    retryable = False
    blamed: str = ""
    """The part of the request that it named, if moot can do without that part."""


class ProviderShapeError(ProviderInvalidError):
    """A structured answer does not have its shape. The model is shown the problem once."""

    def __init__(
        self, message: str, *, said: str, problem: str, cut: bool = False, **used: Any
    ) -> None:
        super().__init__(message, **used)
        self.said = said
        self.problem = problem
        self.cut = cut


class ProviderQuoteError(ProviderInvalidError):
    """Quotes in an answer are not word for word. The model is shown them once."""

    def __init__(self, message: str, *, said: str, problem: str, **used: Any) -> None:
        super().__init__(message, **used)
        self.said = said
        self.problem = problem


class ProviderEchoError(ProviderInvalidError):
    """A speech repeats an earlier one. The model is asked for another once."""


class ProviderContextError(ProviderError):
    """The prompt does not fit the model's context window; a shorter one may."""

    code = "DEBATE_ERR_PROVIDER_CONTEXT"
    shorter = True


class ProviderUnknownModelError(ProviderError):
    """The provider has no model with that name."""

    code = "DEBATE_ERR_PROVIDER_UNKNOWN_MODEL"
    retryable = False


WARN_PROVIDER_NORMALIZED = "DEBATE_WARN_PROVIDER_NORMALIZED"
WARN_ROLE_IGNORED = "DEBATE_WARN_ROLE_IGNORED"
WARN_FILES_AHEAD = "DEBATE_WARN_FILES_AHEAD"
WARN_UNPRICED = "DEBATE_WARN_UNPRICED"
WARN_WEAK_HOST = "DEBATE_WARN_WEAK_HOST"
WARN_SMALL_MODEL = "DEBATE_WARN_SMALL_MODEL"
WARN_NO_THINKING = "DEBATE_WARN_NO_THINKING"
WARN_EFFORT_UNTOLD = "DEBATE_WARN_EFFORT_UNTOLD"
WARN_ONE_FAMILY = "DEBATE_WARN_ONE_FAMILY"
WARN_JURY_OVERLAP = "DEBATE_WARN_JURY_OVERLAP"
WARN_BALLOT_UNWEIGHED = "DEBATE_WARN_BALLOT_UNWEIGHED"
WARN_VERDICT_UNWEIGHED = "DEBATE_WARN_VERDICT_UNWEIGHED"
WARN_OPPOSITES_KEPT = "DEBATE_WARN_OPPOSITES_KEPT"
WARN_MOVED_UNREASONED = "DEBATE_WARN_MOVED_UNREASONED"
WARN_ECHO = "DEBATE_WARN_ECHO"
WARN_QUOTE_UNVERIFIED = "DEBATE_WARN_QUOTE_UNVERIFIED"
WARN_CUT_SHORT = "DEBATE_WARN_CUT_SHORT"
WARN_LEFT_OUT = "DEBATE_WARN_LEFT_OUT"
WARN_ONE_ORDER = "DEBATE_WARN_ONE_ORDER"
WARN_SIDE_UNHEARD = "DEBATE_WARN_SIDE_UNHEARD"
WARN_CLAIM_UNMADE = "DEBATE_WARN_CLAIM_UNMADE"
