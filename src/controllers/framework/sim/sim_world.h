#pragma once
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "api/core_v1.h"
#include "client/fake/fake_api.h"
#include "controllers/framework/context.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::controllers {

using namespace std::chrono_literals;

/// One or more controllers and an API, under virtual time. A request that the bootstrap policy does not allow to the controller's account
/// fails the test.
class SimWorld : public testing::Test {
public:
    SimWorld();
    ~SimWorld() override;

    /// Runs the controller from now on.
    template <class C, class... Args>
    C& run(Args&&... args) {
        auto controller = std::make_unique<C>(context(C::Account), std::forward<Args>(args)...);
        C& result = *controller;
        start(std::move(controller));
        return result;
    }
    void start(std::unique_ptr<client::Controller> controller);
    /// Virtual time passes.
    void pass(Duration duration) { loop.advance(duration); }
    /// Ends all controllers, as a crash would; new ones may be run with fresh caches afterwards.
    void crash();

    // Simulations of other components.
    /// Binds pods without a node, starts bound pods and makes them ready, and removes pods that are being deleted.
    void kubelet();
    void set_ready(const client::NamespacedName& pod, bool ready = true);
    void set_phase(const client::NamespacedName& pod, const std::string& phase);

    std::vector<api::core::v1::Pod> pods() const { return api.list<api::core::v1::Pod>("ns"); }
    /// "Reason: message" of all events, in order of their making.
    std::vector<std::string> events() const;
    bool has_event(const std::string& text) const;

    sim::SimLoop loop;
    Duration clock_ahead{};  ///< of the controllers' wall clock, which is wrong by it
    client::FakeApi api{loop};
    client::Client client{api};
    SeededRandom random{1};
    client::SharedObjects shared_objects{0};  ///< which packs every pod at once, as in a cluster with very many
    Logger log{make_null_sink(), "test"};
    Settings settings;
    /// The context of an account's controllers. Created on first use, and again after a crash.
    Context& context(const std::string& account);

private:
    struct Account;
    struct Process;
    std::unique_ptr<Process> process_;
};

/// A template with one container of that image and the label app=<app>.
api::core::v1::PodTemplateSpec pod_template(const std::string& app, const std::string& image);

}  // namespace porthole::controllers
