#pragma once
#include <string>

#include "schema/compiler/model.h"

namespace porthole::schemac {

/// A wire name as a C++ member: podIPs → pod_ips, hostPID → host_pid, template → template_.
std::string member_name(const std::string& wire_name);
/// An enumerator: SANDBOX_READY → SandboxReady, DoNotSchedule → DoNotSchedule, "rw-once" → RwOnce.
std::string enumerator_name(const std::string& value);
/// porthole::api::core::v1
std::string package_namespace(const Package& package);
/// core_v1
std::string package_file(const Package& package);
/// ::porthole::api::core::v1::Pod
std::string qualified(const TypeDef& type);
/// A C++ string literal.
std::string literal(const std::string& text);

}  // namespace porthole::schemac
