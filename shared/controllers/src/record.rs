//! What is stored between runs: values of the domain and their progress.

pub mod claim;
pub mod command;
pub mod controls;
pub mod fuses;
pub mod launch;
pub mod nomination;
pub mod observation;
pub mod pool;
pub mod spot;
pub mod unavailable;
