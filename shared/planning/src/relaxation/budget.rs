//! How much work solving the relaxation may take: counted, never timed, so that the same input
//! always gives the same answer.

use domain::settings::SearchEffort;

/// Limits on a dual ascent.
#[derive(Clone, Copy)]
pub(super) struct Ascent {
    /// Steps of one round, at most.
    pub(super) steps: usize,
    /// Evaluations of a row on an offer, in all; with many rows there are fewer steps.
    pub(super) work: usize,
}

/// Limits on generating columns, or what is left of them. Time goes to pricing where there are many
/// offers, and to pivots where there are many rows.
#[derive(Clone, Copy)]
pub(super) struct Work {
    /// Rows of offers that are looked at while patterns are searched for.
    pub(super) pricing: usize,
    /// Rows × rows, for each pivot.
    pub(super) pivots: u64,
}

impl Work {
    /// Whether nothing is left of one or the other.
    pub(super) fn is_spent(&self) -> bool {
        self.pricing == 0 || self.pivots == 0
    }
}

/// Limits on the work of solving a relaxation and proving its bound.
#[derive(Clone, Copy)]
pub(crate) struct Budget {
    /// The dual ascent that column generation starts from.
    pub(super) ascent: Ascent,
    /// One more, for the bound alone, where column generation does not come near one.
    pub(super) proof_ascent: Option<Ascent>,
    /// With more rows than this, no patterns are generated.
    pub(super) rows_max: usize,
    /// With more rows than this, the master problem is solved by an interior-point method: of few
    /// rows the simplex method finds the optimum itself.
    pub(super) simplex_rows_max: usize,
    /// Products that this may take, in all of its solutions together.
    pub(super) interior_products: u64,
    /// What all rounds of column generation may take together, and a dive as much again.
    pub(super) generation: Work,
    /// Column generation ends when cost and bound are this close, as a fraction of the bound.
    pub(super) gap_max: f64,
    /// Rounds of passes, each with a proof at its end.
    pub(super) rounds: u32,
    /// Passes over all offers in a round.
    pub(super) passes: u32,
    /// Nodes of one branch-and-bound search for a pattern, at first.
    pub(super) pricing_nodes: u32,
    /// Nodes of one such search once patterns are hard to find.
    pub(super) pricing_nodes_max: u32,
    /// Cells × bundles of a dynamic program that looks for a pattern.
    pub(super) program_work: usize,
    /// Cells × bundles of one that proves what a pattern can be worth.
    pub(super) program_work_max: usize,
    /// Passes over all offers while dual prices are lowered to feasibility, at most.
    pub(super) repair_passes: u32,
    /// With more rows than this on an offer, nothing is proved beyond what surrogate weights say.
    pub(super) proof_rows_max: usize,
    /// Nodes of one branch-and-bound search for a proof.
    pub(super) proof_nodes: u32,
    /// Updates of an offer's surrogate weights before a proof is searched for.
    pub(super) weight_steps: u32,
    /// Whether the best weights are found where these leave it open what a pattern can be worth.
    pub(super) refines_weights: bool,
    /// With more rows than this, no patterns in whole numbers are looked for: that takes longer
    /// than everything else, and makes hardly any of the sample workloads with so many rows
    /// cheaper.
    pub(super) dive_rows_max: usize,
}

impl Budget {
    /// For plans that are carried out.
    const FULL: Self = Self {
        ascent: Ascent { steps: 400, work: 16_000_000 },
        proof_ascent: Some(Ascent { steps: 1_000, work: 128_000_000 }),
        rows_max: 700,
        simplex_rows_max: 64,
        interior_products: 8_000_000_000,
        generation: Work { pricing: 2_000_000, pivots: 10_000_000_000 },
        gap_max: 3e-3,
        rounds: 10,
        passes: 12,
        pricing_nodes: 60,
        pricing_nodes_max: 300,
        program_work: 1_000_000,
        program_work_max: 6_000_000,
        repair_passes: 3,
        proof_rows_max: 256,
        proof_nodes: 20_000,
        weight_steps: 16,
        refines_weights: true,
        dive_rows_max: 256,
    };

    /// Dual prices without patterns: for what is only ranked by them, and for more copies than
    /// [`Self::COPIES_MAX`], where speed counts and patterns change nothing about the answer.
    pub(crate) const WITHOUT_PATTERNS: Self =
        Self { rows_max: 0, repair_passes: 1, proof_rows_max: 0, ..Self::QUICK };

    /// For a quick answer: patterns among many rows take longer to find than everything else.
    const QUICK: Self = Self {
        rows_max: Self::QUICK_ROWS_MAX,
        ascent: Ascent { steps: 200, work: 8_000_000 },
        proof_ascent: None,
        generation: Work { pricing: 1_000_000, pivots: 400_000_000 },
        rounds: 5,
        program_work: 400_000,
        program_work_max: 400_000,
        proof_nodes: 5_000,
        refines_weights: false,
        dive_rows_max: 0,
        ..Self::FULL
    };

    /// For a quick answer about many copies: patterns take half a second, and without them plans
    /// are two to three percent dearer than what a full search finds.
    const QUICK_OF_MANY: Self =
        Self { rows_max: 400, interior_products: 600_000_000, ..Self::QUICK };

    /// Up to so many copies, a quick answer takes less than a tenth of a second.
    const QUICK_COPIES_MAX: u32 = 2_000;

    const COPIES_MAX: u32 = 50_000;

    const QUICK_ROWS_MAX: usize = 64;

    /// See [`Self::without_proof`].
    const GAP_WITHOUT_PROOF: f64 = 6e-3;

    /// The budget where nothing is proved by the dual prices: they need not come as near.
    pub(crate) fn without_proof(&self) -> Self {
        Self { gap_max: self.gap_max.max(Self::GAP_WITHOUT_PROOF), ..*self }
    }

    /// The budget for covering this many copies.
    pub(crate) fn of(copies: u32, effort: SearchEffort) -> &'static Self {
        match effort {
            _ if copies > Self::COPIES_MAX => &Self::WITHOUT_PATTERNS,
            SearchEffort::Quick if copies <= Self::QUICK_COPIES_MAX => &Self::QUICK,
            SearchEffort::Quick => &Self::QUICK_OF_MANY,
            SearchEffort::Full => &Self::FULL,
        }
    }
}
