#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/task.h"

namespace porthole::hns {

/// The kinds of HCN objects in computenetwork.dll.
enum class ObjectKind { Network, Endpoint, Namespace, LoadBalancer, SdnRoute };

/// Failures of HNS are Errors whose message starts with the HRESULT's stable name and whose `details->causes` has one Cause{type =
/// "HRESULT", message = the text of the error record, field = "0x803b0001"}. See hns/hresult.h to make and read them.

/// A notification from HNS (HCN_NOTIFICATIONS): `type` as numbered there, `data` the JSON text.
struct Notification {
    std::uint32_t type = 0;
    std::string data;
};

/// The Host Compute Network API: JSON documents in and out, exactly as in computenetwork.dll. Ids are GUIDs in their usual text form, any
/// case. Calls are executed one after the other, in order. Used on one loop; tasks must end before it is destroyed. A cancelled call may
/// still be executed.
class Hns {
public:
    virtual ~Hns() = default;

    /// A JSON array of ids. `query` is "" or a HostComputeQuery document.
    virtual Task<std::string> enumerate(ObjectKind kind, std::string query) = 0;
    /// The new object's id. `parent` is the network's id for endpoints, "" for everything else.
    virtual Task<std::string> create(ObjectKind kind, std::string parent, std::string settings) = 0;
    /// create() for each of `settings`, one after the other, with the result of each: cheaper than separate calls where starting a call is
    /// expensive. A failure does not end the others, but if the service does not answer, no further calls are made: the rest fail with the
    /// same error.
    virtual Task<std::vector<Result<std::string>>> create_all(ObjectKind kind, std::string parent, std::vector<std::string> settings);
    /// The object's properties as JSON.
    virtual Task<std::string> query(ObjectKind kind, std::string id, std::string query) = 0;
    virtual Task<> modify(ObjectKind kind, std::string id, std::string settings) = 0;
    virtual Task<> remove(ObjectKind kind, std::string id) = 0;
    /// The version 1 entry point (vmcompute.dll's HNSCall): the whole answer document, `{"Success":…,"Output":…}`.
    virtual Task<std::string> call_v1(std::string method, std::string path, std::string body) = 0;
    /// Calls `listener` on the loop's thread for every notification until the service disconnects; that is the last notification (type
    /// 0x01000000), after which the caller may subscribe again.
    virtual Task<> subscribe(std::function<void(const Notification&)> listener) = 0;
};

}  // namespace porthole::hns
