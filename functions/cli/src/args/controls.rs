//! Arguments of the commands that switch an installed cluster.

use clap::Args;

/// Where a cluster's switches are.
#[derive(Clone, Debug, Args)]
pub(crate) struct SwitchPlace {
    /// The context of the kubeconfig; the current one without it
    #[arg(long, value_name = "NAME", conflicts_with = "table")]
    pub(crate) context: Option<String>,
    /// The installation's DynamoDB table, instead of the cluster: works while its API server does
    /// not
    #[arg(long, value_name = "NAME", requires = "cluster")]
    pub(crate) table: Option<String>,
    /// The cluster, with --table
    #[arg(long, value_name = "NAME", requires = "table")]
    pub(crate) cluster: Option<String>,
}

/// `outrigger pause`.
#[derive(Debug, Args)]
pub(crate) struct PauseArgs {
    #[command(flatten)]
    pub(crate) place: SwitchPlace,
    /// Go on replacing and draining nodes that EC2 interrupts
    #[arg(long)]
    pub(crate) except_interruptions: bool,
}

/// `outrigger observe`, `resume` and `status`.
#[derive(Debug, Args)]
pub(crate) struct SwitchArgs {
    #[command(flatten)]
    pub(crate) place: SwitchPlace,
}

/// `outrigger fuses`.
#[derive(Debug, Args)]
pub(crate) struct FusesArgs {
    #[command(flatten)]
    pub(crate) place: SwitchPlace,
    /// The most launches in a minute
    #[arg(long, value_name = "N")]
    pub(crate) max_launches_per_tick: Option<u32>,
    /// The most launches in an hour
    #[arg(long, value_name = "N")]
    pub(crate) max_launches_per_hour: Option<u32>,
    /// The share of instances that may begin to end in a minute
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) max_terminations_per_tick_percent: Option<u32>,
    /// What all instances may cost together, dollars an hour; 0 for no bound
    #[arg(long, value_name = "USD")]
    pub(crate) max_hourly_usd: Option<f64>,
    /// Go back to the installation's own
    #[arg(long)]
    pub(crate) reset: bool,
}

/// `outrigger end-orphans`.
#[derive(Debug, Args)]
pub(crate) struct EndOrphansArgs {
    #[command(flatten)]
    pub(crate) place: SwitchPlace,
    /// For how many minutes
    #[arg(long, value_name = "MINUTES", default_value_t = 60,
          value_parser = clap::value_parser!(u32).range(1..=1440))]
    pub(crate) minutes: u32,
}

/// `outrigger take-over`.
#[derive(Debug, Args)]
pub(crate) struct TakeOverArgs {
    /// The context of the kubeconfig; the current one without it
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// The installation that the cluster is to belong to: output `InstallationId` of its stack
    #[arg(long, value_name = "NAME/UUID")]
    pub(crate) installation: String,
}

/// `outrigger uninstall`.
#[derive(Debug, Args)]
#[group(id = "what", required = true, multiple = false, args = ["keep_nodes", "drain_nodes"])]
pub(crate) struct UninstallArgs {
    /// The context of the kubeconfig; the current one without it
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// Leave all nodes running, and nobody to manage them
    #[arg(long)]
    pub(crate) keep_nodes: bool,
    /// Delete all NodePools, and wait until the functions have drained and ended every node
    #[arg(long)]
    pub(crate) drain_nodes: bool,
}
