# Tools of the checks, pinned, fetched once from PyPI or through the Go module proxy, and kept in a cache. To be sourced.

tools_cache=${XDG_CACHE_HOME:-$HOME/.cache}/outrigger-tools

# The folder of a virtual environment that holds what the file lists: `python_environment FILE [PIP'S OPTION…]`.
python_environment() {
    local requirements=$1 folder
    shift
    folder=$tools_cache/python-$(sha256sum "$requirements" | cut -c1-16)
    if [[ ! -e $folder/complete ]]; then
        rm -rf "$folder"
        python3 -m venv "$folder" &&
            PIP_DISABLE_PIP_VERSION_CHECK=1 "$folder/bin/pip" install --quiet --no-compile "$@" -r "$requirements" &&
            touch "$folder/complete"
    fi >&2 || return
    printf '%s' "$folder"
}

# The path of a Go program: `go_tool helm.sh/helm/v3/cmd/helm v3.22.0`. Fails where it cannot be had.
# Nothing of it gets into what is shipped.
go_tool() {
    local package=$1 version=$2 folder=$tools_cache/${1//\//_}-$2
    local program=$folder/${package##*/}
    if [[ ! -x $program ]]; then
        command -v go >/dev/null || return
        mkdir -p "$folder"
        GOTOOLCHAIN=local GOFLAGS=-modcacherw CGO_ENABLED=0 GOBIN=$folder go install -trimpath -ldflags '-s -w' "$package@$version" >&2 || return
    fi
    printf '%s' "$program"
}
