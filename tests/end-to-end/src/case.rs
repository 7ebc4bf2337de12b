//! A case of the rig, and how files list theirs.

use std::sync::Arc;

use anyhow::Result;
use end_to_end::world::World;
use futures_util::future::LocalBoxFuture;

/// What a case does.
pub(crate) type Steps = fn(Arc<World>) -> LocalBoxFuture<'static, Result<()>>;

/// A case.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    /// A name that reads as a sentence.
    pub(crate) name: &'static str,
    /// What it does.
    pub(crate) steps: Steps,
    /// It measures: nothing else may take the machine's time.
    pub(crate) is_alone: bool,
}

/// Lists cases by the functions that hold them; their names are the functions' names. Those after
/// `alone` run alone.
#[macro_export]
macro_rules! cases {
    ($($name:ident),* $(,)? $(; alone: $($alone:ident),+ $(,)?)?) => {
        pub(crate) const CASES: &[$crate::case::Case] = &[
            $($crate::case::Case {
                name: stringify!($name),
                steps: |world| Box::pin($name(world)),
                is_alone: false,
            },)*
            $($($crate::case::Case {
                name: stringify!($alone),
                steps: |world| Box::pin($alone(world)),
                is_alone: true,
            },)+)?
        ];
    };
}
