#pragma once
#include <string>

#include "base/result.h"
#include "winhost/template/host_profile.h"

/// What the emulation keeps on a host's disk. Pods with a hostPath volume of C:\ can write there while the host runs and leave links for
/// its next boot, so everything goes through winhost/bundle/held_tree.h. `root` is the host's mounted root file system. Blocking.
namespace porthole::winhost {

/// Writes emulator.json, which tells programs where the emulator's services are, and the token for them. Errors: Forbidden where someone
/// has put a link in the way; Io.
Result<void> write_host_services(const std::string& root, const std::string& host_file, const std::string& token);
/// emulator.json as it is there. Error: as HeldTree::read().
Result<std::string> read_host_services(const std::string& root);

/// A host that was of another release before has been upgraded in place: its registry is kept, and says the new release. At the first
/// boot the folders of a node's programs are added to PATH: services get their environment from the registry. Errors: Invalid for a
/// registry that is none; as above.
Result<void> prepare_registry(const std::string& root, const HostProfile& profile);

}  // namespace porthole::winhost
