#pragma once  // private to this folder
#include <string>

#include "base/result.h"
#include "schema/value.h"

namespace porthole::cmd::self_check {

/// Who has which rights by an access list: {"system": "all", "administrators": "all", "owner": "all", "S-1-5-93-2-2": "read"}. "owner" is
/// who runs this program; "others" counts the rules for everyone, users and other groups of which a host has many members. Another mask of
/// rights is hexadecimal.
Result<schema::Value> rights_of_file(const std::string& path);
enum class SecuredObject { Pipe, RegistryKey };
/// The same of an open object.
Result<schema::Value> rights_of(void* handle, SecuredObject kind);

/// "S-1-5-18" for the system: who runs this program.
std::string own_sid();

}  // namespace porthole::cmd::self_check
