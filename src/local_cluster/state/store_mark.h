#pragma once
#include <string>

#include "base/result.h"
#include "local_cluster/state/data_dir.h"

/// A store that is missing, for example because its file system is not mounted, looks like one that was never made. A server that began an
/// empty cluster in its place would have the authorities of the old one: nodes would believe it, and end their pods.
namespace porthole::local_cluster {

/// From now on, a missing store is missed. Error: Io.
Result<void> expect_store(const DataDir& data);
/// The objects are elsewhere. Error: Io.
Result<void> expect_no_store(const DataDir& data);
/// Error: NotFound if objects were stored in data.store(), and neither they are there nor a record of other storage; its message ends with
/// how an empty cluster begins: `to_begin`, such as "remove x".
Result<void> check_expected_store(const DataDir& data, const std::string& to_begin);

}  // namespace porthole::local_cluster
