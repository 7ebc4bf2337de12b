//! Bearer tokens that expire, and are renewed before.

use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::pin::Pin;

use controllers::ports::PortError;
use domain::{SignedDuration, Text, Timestamp};

/// How long before its expiry a token is renewed. A call in flight may take as long.
const RENEWAL_MARGIN: SignedDuration = SignedDuration::from_secs(60);

/// A bearer token.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    /// The value after `Bearer`. A secret: never shown, not even by `Debug`.
    pub secret: Text,
    /// When the API server stops accepting it.
    pub expires: Timestamp,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { secret: _, expires } = self;
        f.debug_struct("Token").field("expires", expires).finish_non_exhaustive()
    }
}

/// A source of tokens: for EKS, presigned `GetCallerIdentity` requests.
///
/// Any `Fn() -> impl Future<Output = Result<Token, PortError>>` is one.
pub trait TokenSource {
    /// A token that is valid now.
    fn token(&self) -> impl Future<Output = Result<Token, PortError>>;
}

impl<S, F> TokenSource for S
where
    S: Fn() -> F,
    F: Future<Output = Result<Token, PortError>>,
{
    fn token(&self) -> impl Future<Output = Result<Token, PortError>> {
        self()
    }
}

type Made<'s> = Pin<Box<dyn Future<Output = Result<Token, PortError>> + 's>>;

/// A type-erased source.
trait AnySource {
    fn make(&self) -> Made<'_>;
}

impl<S: TokenSource> AnySource for S {
    fn make(&self) -> Made<'_> {
        Box::pin(self.token())
    }
}

/// The token in use, and where the next one comes from.
pub(crate) struct Tokens {
    source: Box<dyn AnySource>,
    current: RefCell<Option<Token>>,
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").field("current", &self.current).finish_non_exhaustive()
    }
}

impl Tokens {
    pub(crate) fn new(source: impl TokenSource + 'static) -> Self {
        Self { source: Box::new(source), current: RefCell::new(None) }
    }

    /// The token in use, renewed where it expires soon.
    pub(crate) async fn current(&self, now: Timestamp) -> Result<Token, PortError> {
        let known = self.current.borrow().clone();
        if let Some(token) = known
            && token.expires.duration_since(now) > RENEWAL_MARGIN
        {
            return Ok(token);
        }
        let fresh = self.source.make().await?;
        *self.current.borrow_mut() = Some(fresh.clone());
        Ok(fresh)
    }

    /// Forgets a token that the API server rejected; a newer one stays.
    pub(crate) fn refuse(&self, refused: &Token) {
        let mut current = self.current.borrow_mut();
        if current.as_ref() == Some(refused) {
            *current = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;

    /// A source that counts what it made; each token is good for a quarter of an hour.
    fn counting(now: Timestamp) -> (Tokens, Rc<Cell<u32>>) {
        let made = Rc::new(Cell::new(0));
        let counter = made.clone();
        let tokens = Tokens::new(move || {
            counter.set(counter.get() + 1);
            let secret = format!("token-{}", counter.get()).into();
            let expires = now + SignedDuration::from_mins(15);
            async move { Ok(Token { secret, expires }) }
        });
        (tokens, made)
    }

    #[tokio::test]
    async fn a_token_serves_until_a_minute_before_its_end() {
        let now: Timestamp = "2026-01-01T12:00:00Z".parse().unwrap();
        let (tokens, made) = counting(now);
        tokens.current(now).await.unwrap();
        tokens.current(now + SignedDuration::from_secs(13 * 60 + 59)).await.unwrap();
        assert_eq!(made.get(), 1);
        tokens.current(now + SignedDuration::from_mins(14)).await.unwrap();
        assert_eq!(made.get(), 2);
    }

    #[tokio::test]
    async fn a_refused_token_is_replaced_once_however_many_calls_saw_it_refused() {
        let now: Timestamp = "2026-01-01T12:00:00Z".parse().unwrap();
        let (tokens, made) = counting(now);
        let refused = tokens.current(now).await.unwrap();
        tokens.refuse(&refused);
        tokens.current(now).await.unwrap();
        tokens.refuse(&refused);
        tokens.current(now).await.unwrap();
        assert_eq!(made.get(), 2);
    }

    #[test]
    fn a_token_is_never_shown() {
        let token = Token { secret: "s3cret".into(), expires: Timestamp::UNIX_EPOCH };
        assert!(!format!("{token:?}").contains("s3cret"));
    }
}
