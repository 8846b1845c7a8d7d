#!/usr/bin/env bash
# Runs a Windows program under Wine, as ctest does in the Windows build: wine_run.sh PROGRAM [ARGUMENT...]
# Each run has a prefix of its own (hard links to a template made once) and, where the system allows it, a process
# namespace and a limit on processes: whatever the program starts ends with it. No desktop is ever started.
set -euo pipefail
cache=${PORTHOLE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/porthole}
wine=${PORTHOLE_WINE:-/usr/lib/wine/wine64}
server=${wine%/*}/wineserver64
limit=${PORTHOLE_WINE_SECONDS:-240}
processes=200

[ -x "$wine" ] || { echo "wine_run.sh: there is no $wine: apt-get install wine64" >&2; exit 127; }
export WINEDEBUG=${WINEDEBUG:--all} WINEDLLOVERRIDES="mscoree,mshtml,winemenubuilder.exe,explorer.exe=" WINEARCH=win64
unset DISPLAY WAYLAND_DISPLAY

# A process namespace: when its first process ends, all others in it are killed.
enclosed() {
    if unshare --fork --pid --kill-child --mount-proc true 2>/dev/null; then
        unshare --fork --pid --kill-child --mount-proc "$@"
    elif unshare --user --map-current-user --fork --pid --kill-child --mount-proc true 2>/dev/null; then
        unshare --user --map-current-user --fork --pid --kill-child --mount-proc "$@"
    else
        local status=0
        "$@" || status=$?
        "$server" -k || true
        return $status
    fi
}

template=$cache/wine/$(dpkg-query -W -f '${Version}' wine64 2>/dev/null || echo unknown)
if ! [ -f "$template.complete" ]; then
    mkdir -p "$cache/wine"
    exec 9>"$template.lock"
    flock -w 120 9
    if ! [ -f "$template.complete" ]; then
        rm -rf "$template"
        # The registry is written when the server ends.
        WINEPREFIX=$template enclosed timeout -k 5 100 sh -c '"$1" wineboot.exe --init; timeout 40 "$2" -w || "$2" -k' sh "$wine" "$server" \
            9>&- </dev/null >/dev/null 2>&1
        # Windows 10's version numbers: Wine 8 says Windows 7 by itself.
        sed -i -e 's/^"CurrentVersion"="6\.[0-9]"/"CurrentVersion"="10.0"/' -e 's/^"CurrentBuild\(Number\)\?"="[0-9]*"/"CurrentBuild\1"="20348"/' \
            -e 's/^"CSDVersion"=".*"/"CSDVersion"=""/' "$template/system.reg"
        touch "$template.complete"
    fi
    exec 9>&-
fi

# On the same file system as the template, for the hard links.
prefix=$(mktemp -d "$cache/wine/run.XXXXXX")
group=
clean_up() {
    rm -rf "$prefix"
    [ -z "$group" ] || { echo $$ >"${group%/*}/cgroup.procs"; rmdir "$group"; } 2>/dev/null || true
}
trap clean_up EXIT
trap 'exit 143' TERM INT
cp -al "$template/." "$prefix"
# Wine writes a registry file that has several names in place: what a run leaves there would be in the template, and in all later runs.
cp --remove-destination "$template"/*.reg "$prefix"

for controller in /sys/fs/cgroup/pids /sys/fs/cgroup; do
    if [ -w "$controller/cgroup.procs" ] && mkdir "$controller/porthole-wine-$$" 2>/dev/null; then
        group=$controller/porthole-wine-$$
        { echo $processes >"$group/pids.max" && echo $$ >"$group/cgroup.procs"; } 2>/dev/null || true
        break
    fi
done

status=0
WINEPREFIX=$prefix enclosed timeout -k 5 "$limit" "$wine" "$@" || status=$?
exit $status
