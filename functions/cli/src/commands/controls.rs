//! Commands that switch an installed cluster, or show how it is switched: `pause`, `observe`,
//! `resume`, `fuses`, `end-orphans`, `take-over`, `status`, `uninstall` and `diff --observed`.
//!
//! Switches are values in ConfigMap `kube-system/outrigger` of the cluster, or in the
//! installation's table. Only with the feature `live`, which brings the clients.

#[cfg(feature = "live")]
mod observed;
#[cfg(feature = "live")]
mod place;
#[cfg(feature = "live")]
mod switch;
#[cfg(feature = "live")]
mod uninstall;

#[cfg(feature = "live")]
pub(crate) use observed::observed;
#[cfg(feature = "live")]
pub(crate) use switch::{end_orphans, fuses, observe, pause, resume, status, take_over};
#[cfg(feature = "live")]
pub(crate) use uninstall::uninstall;

#[cfg(not(feature = "live"))]
pub(crate) use not_built_in::{
    end_orphans, fuses, observe, observed, pause, resume, status, take_over, uninstall,
};

#[cfg(not(feature = "live"))]
mod not_built_in {
    use crate::args::controls::{
        EndOrphansArgs, FusesArgs, PauseArgs, SwitchArgs, TakeOverArgs, UninstallArgs,
    };
    use crate::args::diff::ObservedArgs;
    use crate::commands::CommandError;
    use crate::status::Status;

    macro_rules! not_built_in {
        ($($name:ident: $args:ty,)*) => {$(
            pub(crate) fn $name(_: &$args) -> Result<Status, CommandError> {
                Err(CommandError::NotBuiltIn)
            }
        )*};
    }

    not_built_in! {
        pause: PauseArgs,
        observe: SwitchArgs,
        resume: SwitchArgs,
        status: SwitchArgs,
        fuses: FusesArgs,
        end_orphans: EndOrphansArgs,
        take_over: TakeOverArgs,
        uninstall: UninstallArgs,
        observed: ObservedArgs,
    }
}
