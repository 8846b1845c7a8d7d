#pragma once
#include "apiserver/flow_control/flow_control.h"
#include "apiserver/storage/mirror.h"
#include "client/client.h"
#include "runtime/sync.h"

namespace porthole::apiserver {

/// Keeps the objects of API priority and fairness as every cluster has them, and FlowControl as the objects say.
///
/// The rules of the defaults are upstream's: a missing one is created; one whose annotation apf.kubernetes.io/autoupdate-spec is "true" (or
/// absent, while its spec has not been changed) gets the spec of this release, as the mandatory ones always do; one that this release does
/// not have is deleted when its annotation is "true". Lives on the store's loop; what it is given outlives it.
class FlowControlConfiguration {
public:
    /// `flow_control` may be null: then objects are kept, and nothing follows them.
    FlowControlConfiguration(EventLoop& loop, store::Store& store, Logger log, FlowControl* flow_control);

    /// Reads the objects and configures by them, at once. Error: that of Store::range().
    Result<void> load();
    /// Creates, corrects and deletes defaults. Safe to repeat.
    Task<> ensure_defaults(client::Client& client);
    /// Writes the condition Dangling of FlowSchemas, where it has changed.
    Task<> write_conditions(client::Client& client);
    /// ensure_defaults() a minute after every change that follow() has seen, until cancelled.
    Task<> keep_defaults(client::Client& client);
    /// Configures again with every change, and writes the condition Dangling of FlowSchemas; until cancelled.
    Task<> follow(client::Client& client);

private:
    using FlowSchema = FlowControl::FlowSchema;
    using PriorityLevel = FlowControl::PriorityLevel;

    Task<> take_changes(store::Watch& watch, client::Client& client);
    Task<> write_condition(client::Client& client, FlowSchema schema);

    EventLoop& loop_;
    store::Store& store_;
    Logger log_;
    FlowControl* flow_control_;
    Mirror<PriorityLevel> levels_;
    Mirror<FlowSchema> schemas_;
    store::Revision revision_;
    Event changed_;
};

}  // namespace porthole::apiserver
