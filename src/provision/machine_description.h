#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "provision/described_host.h"
#include "schema/value.h"

namespace porthole::provision {

/// The machines of all pools that name hosts; other pools are for `up`. Error: BadRequest with the field.
Result<std::vector<MachineDescription>> read_machines(std::string_view yaml, const DescriptionPlace& place);

/// From a description's file, with the user's HOME. Errors: also those of reading it; all name the file.
Result<std::vector<MachineDescription>> read_machines_file(const std::string& file);

/// One machine as a pool of one host, and the reverse with the same checks: the inventory's form.
schema::Value to_pool(const MachineDescription& machine);
Result<MachineDescription> from_pool(const schema::Value& pool);

}  // namespace porthole::provision
