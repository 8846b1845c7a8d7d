#pragma once
#include "apiserver/flow_control/flow_control.h"
#include "apiserver/storage/mirror.h"
#include "client/client.h"
#include "runtime/sync.h"

namespace porthole::apiserver {

/// Maintains the default objects of API priority and fairness, and configures FlowControl from the objects.
///
/// Defaults follow upstream's rules: a missing object is created. If its annotation apf.kubernetes.io/autoupdate-spec is "true" (or absent,
/// and its spec has not been changed), it gets the spec of this release, as mandatory objects always do. An object that this release does
/// not have is deleted if its annotation is "true". Lives on the store's loop; collaborators outlive it.
class FlowControlConfiguration {
public:
    /// `flow_control` may be null: the objects are then maintained, but have no effect.
    FlowControlConfiguration(EventLoop& loop, store::Store& store, Logger log, FlowControl* flow_control);

    /// Reads the objects and applies them, without suspending. Error: that of Store::range().
    Result<void> load();
    /// Creates, corrects and deletes defaults. Safe to repeat.
    Task<> ensure_defaults(client::Client& client);
    /// Writes the condition Dangling of FlowSchemas, where it has changed.
    Task<> write_conditions(client::Client& client);
    /// Runs ensure_defaults() a minute after every change that follow() has seen, until cancelled.
    Task<> keep_defaults(client::Client& client);
    /// Applies every change, and writes the condition Dangling of FlowSchemas; until cancelled.
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
