#include "local_cluster/state/store_mark.h"

#include "runtime/files/durable_file.h"

namespace porthole::local_cluster {

Result<void> expect_store(const DataDir& data) {
    if (path_exists(data.store_mark())) return {};
    return write_durably(data.store_mark(), "Objects of the cluster are in the directory " + data.store().filename().string() +
                                                ". While this file is here, no server begins without them.\n");
}

Result<void> expect_no_store(const DataDir& data) {
    std::error_code error;
    std::filesystem::remove(data.store_mark(), error);
    return error ? Result<void>(Error(Reason::Io, "cannot remove " + data.store_mark().string() + ": " + error.message())) : Result<void>();
}

Result<void> check_expected_store(const DataDir& data, const std::string& to_begin) {
    if (!path_exists(data.store_mark()) || path_exists(data.store() / "store.db") || path_exists(data.store_location())) return {};
    return Error(Reason::NotFound, "the objects of the cluster are missing in " + data.store().string() +
                                       ": put them back, or restore a backup into another data directory. To begin an empty cluster, " +
                                       to_begin);
}

}  // namespace porthole::local_cluster
