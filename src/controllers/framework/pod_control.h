#pragma once
#include <functional>
#include <string>

#include "api/core_v1.h"
#include "client/events.h"
#include "controllers/framework/expectations.h"
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

/// Creates `count` pods of `owner` by `create_one(i)`, in a slow start, and expects to see them. Error: the first of create_one; but a
/// namespace that is being deleted ends it without one, as the owner will soon be gone, too.
Task<> create_expected(Expectations& expectations, Expectations::Key owner, int count, std::function<Task<>(int)> create_one);

}  // namespace porthole::controllers
