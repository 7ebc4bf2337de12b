//! The end-to-end rig: what the compiled functions meet in an account, as real as a registry has it.
