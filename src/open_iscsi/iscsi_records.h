#pragma once
#include <map>
#include <string>
#include <vector>

#include "runtime/files/file_system.h"

namespace porthole::open_iscsi {

/// Records of open-iscsi, files that only root may read: for values that must not be among the arguments of `iscsiadm`, which every process
/// of the node can see.
class IscsiRecords {
public:
    /// By name; "" takes the name from the record.
    using Values = std::map<std::string, std::string>;
    struct Node {
        std::string target, portal;  ///< "iqn.2026-11.example:disk", "10.0.0.9:3260,1"
    };
    /// `root` is put before all paths.
    explicit IscsiRecords(FileSystem& files, std::string root = "") : files_(files), root_(std::move(root)) {}

    /// Of how to ask the portal ("10.0.0.9:3260", "[fd00::9]:3260") for targets. Errors: NotFound without such a record; BadRequest for a
    /// value that a line cannot hold.
    Result<void> set_discovery(const std::string& portal, const Values& values);
    /// Of the target at the portal, by the interface. The same errors.
    Result<void> set_node(const std::string& portal, const std::string& iqn, const std::string& interface, const Values& values);
    /// The targets at portals that have a record of the interface.
    std::vector<Node> nodes_of(const std::string& interface);
    bool has_interface(const std::string& interface);

private:
    std::vector<std::string> folders() const;
    std::vector<std::string> node_records(const std::string& place, const std::string& iqn, const std::string& interface);
    Result<void> set(const std::vector<std::string>& records, const Values& values);

    FileSystem& files_;
    std::string root_;
};

}  // namespace porthole::open_iscsi
