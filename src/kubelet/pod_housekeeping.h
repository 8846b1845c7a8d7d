#pragma once
#include "kubelet/lifecycle/container_gc.h"
#include "kubelet/pod_manager.h"
#include "kubelet/preparation/pod_preparer.h"

namespace porthole::kubelet {

/// Removes what pods have left: those that have ended, and those that ended while no kubelet was there to see it. All references outlive
/// it; close() it before destroying it.
class PodHousekeeping {
public:
    PodHousekeeping(EventLoop& loop, Logger log, PodManager& pods, Pleg& pleg, ContainerGc& gc, PodFootprint& footprint,
                    PodPreparer& preparer)
        : loop_(loop), log_(std::move(log)), pods_(pods), pleg_(pleg), gc_(gc), footprint_(footprint), preparer_(preparer), scope_(loop) {}

    /// Leftovers of ended pods every two seconds, everything else every minute; until cancelled.
    Task<> run();
    Task<> close() { return scope_.close(); }

private:
    Task<> finish_removed();
    void remove_stale();
    Task<> remove_stale_volumes(std::string uid);

    EventLoop& loop_;
    Logger log_;
    PodManager& pods_;
    Pleg& pleg_;
    ContainerGc& gc_;
    PodFootprint& footprint_;
    PodPreparer& preparer_;
    std::set<std::string> removing_volumes_;  ///< of these pods: their tasks
    Scope scope_;
};

}  // namespace porthole::kubelet
