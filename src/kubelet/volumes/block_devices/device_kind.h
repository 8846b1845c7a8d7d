#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/task.h"

namespace porthole::kubelet {

/// What a kind of device needs to know to find one and to let it go; kept on disk.
using DeviceDetails = std::map<std::string, std::string>;

/// A way to get block devices of others onto this node. Implement it, and give it to make_device_volumes(). All calls are safe to repeat,
/// and those for one device do not overlap.
class DeviceKind {
public:
    virtual ~DeviceKind() = default;
    virtual const char* name() const = 0;  ///< "iscsi"; a directory's name
    /// Whether a device of this kind can have such details. Those that do not pass are given to no other call. Error: BadRequest.
    virtual Result<void> check(DeviceDetails /*details*/) { return {}; }
    /// The devices of the node that lead to it now, with those made of them: "/dev/sda", "/dev/dm-0". Empty if it is not there.
    virtual std::vector<std::string> find(DeviceDetails details) = 0;
    /// Names what devices of this kind are attached and detached through together, such as an iSCSI target. "" for nothing.
    virtual std::string session_of(DeviceDetails /*details*/) { return ""; }
    /// The path of the device, such as "/dev/sda", once it is there. `secrets` is not kept. Errors: those of programs; Timeout.
    virtual Task<std::string> attach(DeviceDetails details, std::map<std::string, std::string> secrets) = 0;
    /// Takes the device from the node. Nothing of it is mounted any more. `others`: devices of this kind that stay. Success
    /// where the node has no program for such devices: then none was attached.
    virtual Task<> detach(DeviceDetails details, std::vector<DeviceDetails> others) = 0;
};

}  // namespace porthole::kubelet
