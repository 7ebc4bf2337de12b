config {
  # Modules of others cannot be fetched here.
  call_module_type = "local"
}

plugin "terraform" {
  enabled = true
  preset  = "all"
}

# One file a kind of thing, and parameters.tf, which is made from the templates.
rule "terraform_standard_module_structure" {
  enabled = false
}
