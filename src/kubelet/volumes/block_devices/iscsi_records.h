#pragma once
#include <map>
#include <string>
#include <vector>

#include "runtime/files/file_system.h"

namespace porthole::kubelet {

/// Records of open-iscsi, files that only root may read: for values that must not be among the arguments of `iscsiadm`, which every process
/// of the node can see.
class IscsiRecords {
public:
    using Values = std::map<std::string, std::string>;
    explicit IscsiRecords(FileSystem& files) : files_(files) {}

    /// Of how to ask the portal ("10.0.0.9:3260", "[fd00::9]:3260") for targets. Errors: NotFound without such a record; BadRequest for a
    /// value that a line cannot hold.
    Result<void> set_discovery(const std::string& portal, const Values& values);
    /// Of the target at the portal, by the interface. The same errors.
    Result<void> set_node(const std::string& portal, const std::string& iqn, const std::string& interface, const Values& values);

private:
    std::vector<std::string> node_records(const std::string& place, const std::string& iqn, const std::string& interface);
    Result<void> set(const std::vector<std::string>& records, const Values& values);

    FileSystem& files_;
};

}  // namespace porthole::kubelet
