#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/task.h"

namespace porthole::kubelet {

/// The parameters that a kind of device needs to find and release a device; stored on disk.
using DeviceDetails = std::map<std::string, std::string>;

/// A kind of remote block devices. Implement it, and pass it to make_device_volumes(). All calls are safe to repeat, and those for one
/// device do not overlap.
class DeviceKind {
public:
    virtual ~DeviceKind() = default;
    virtual const char* name() const = 0;  ///< "iscsi"; a directory's name
    /// Whether the parameters are valid for this kind. Other calls receive only valid ones. Error: BadRequest.
    virtual Result<void> check(DeviceDetails /*details*/) { return {}; }
    /// The node's devices for these parameters, including those built on them: "/dev/sda", "/dev/dm-0". Empty if there are none.
    virtual std::vector<std::string> find(DeviceDetails details) = 0;
    /// What several devices of this kind share when they are attached and detached, such as an iSCSI target. "" for nothing.
    virtual std::string session_of(DeviceDetails /*details*/) { return ""; }
    /// The path of the device, such as "/dev/sda", once it exists. `secrets` are not stored. Errors: those of programs; Timeout.
    virtual Task<std::string> attach(DeviceDetails details, std::map<std::string, std::string> secrets) = 0;
    /// Removes the device from the node. It is no longer mounted. `others`: devices of this kind that stay. Success if the node has no
    /// program for such devices: then none was attached.
    virtual Task<> detach(DeviceDetails details, std::vector<DeviceDetails> others) = 0;
};

}  // namespace porthole::kubelet
