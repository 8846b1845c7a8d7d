#pragma once
#include <string>

#include "base/result.h"
#include "winhost/template/host_profile.h"

/// The emulation's files on a host's disk. Pods with a hostPath volume of C:\ can write there while the host runs and leave links for its
/// next boot, so all access uses winhost/bundle/held_tree.h. `root` is the host's mounted root file system. Blocking.
namespace porthole::winhost {

/// Writes emulator.json, with the addresses of the emulator's services and the token for them. Errors: Forbidden if a link is in the way;
/// Io.
Result<void> write_host_services(const std::string& root, const std::string& host_file, const std::string& token);
/// The content of emulator.json. Error: as HeldTree::read().
Result<std::string> read_host_services(const std::string& root);

/// If the host had another release before, it is upgraded in place: its registry is kept, and changed to the new release. At the first boot
/// the directories of a node's programs are added to PATH: services get their environment from the registry. Errors: Invalid for an invalid
/// registry; as above.
Result<void> prepare_registry(const std::string& root, const HostProfile& profile);

}  // namespace porthole::winhost
