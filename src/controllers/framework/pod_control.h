#pragma once
#include <functional>
#include <string>

#include "api/core_v1.h"
#include "client/events.h"
#include "controllers/framework/owner.h"

namespace porthole::controllers {

/// A pod created from a template for an owner: labels, annotations, finalizers and spec of the template, a generated name, and a controller
/// reference.
api::core::v1::Pod pod_from_template(const api::core::v1::PodTemplateSpec& pod_template, const Owner& owner);

/// The namespace is being deleted: creating in it is useless, and an event about it would be noise.
bool is_namespace_terminating(const Error& error);

/// Creates and deletes pods, and records it in events on the owner. Errors: the API's.
class PodControl {
public:
    PodControl(client::Client& client, client::EventRecorder& events) : client_(client), events_(events) {}

    /// Requires: `owner` outlives the task.
    Task<> create(api::core::v1::Pod pod, Owner owner);
    /// Removes exactly that pod: NotFound or Conflict if another one of the same name has replaced it.
    Task<> remove(client::NamespacedName key, std::string uid, Owner owner);

private:
    client::Client& client_;
    client::EventRecorder& events_;
};

/// The result of slow_start().
struct SlowStart {
    int succeeded = 0;
    std::optional<Error> error;  ///< the first failure; later batches were not begun
};
/// Calls `step(i)` for i in [0, count), in batches of `first`, twice that, and so on, until a batch has a failure: its cause (a quota, an
/// admission rule) would make all fail.
Task<SlowStart> slow_start(int count, int first, std::function<Task<>(int)> step);

}  // namespace porthole::controllers
