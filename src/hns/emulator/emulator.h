#pragma once
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "base/log.h"
#include "hns/emulator/faults.h"
#include "hns/emulator/object_store.h"
#include "hns/emulator/operations/transaction.h"
#include "hns/emulator/v1/front_end.h"
#include "hns/hns.h"
#include "runtime/scope.h"
#include "runtime/sync.h"

namespace porthole::hns::emulator {

/// The collaborators of the emulator. All outlive it.
struct EmulatorContext {
    EventLoop& loop;
    FileSystem& files;
    Random& random;
    DataPlane& data_plane;
    Logger log;
};

/// How one emulated service differs from another.
struct EmulatorOptions {
    std::string data_dir;                             ///< used by this emulator only; kept across restarts
    Profile profile;                                  ///< the release it plays
    Duration switch_delay = std::chrono::seconds(1);  ///< until the management address is back on a new switch
};

/// The host network service of an emulated host. Calls are executed one after the other, each to its end even if its caller is cancelled; a
/// failed call has changed nothing. Notifications come after the change that they report. Owns the model and its files in `data_dir`; lives
/// on one loop. close() it before destroying it.
class Emulator final : public Hns {
public:
    Emulator(EmulatorContext context, EmulatorOptions options);
    ~Emulator() override;

    /// Reads the stored model and restores it in the data plane. Call once, before anything else.
    Task<> start();
    /// Ends subscriptions, lets the call in progress finish and refuses the others. Objects stay.
    Task<> close();

    Task<std::string> enumerate(ObjectKind kind, std::string query) override;
    Task<std::string> create(ObjectKind kind, std::string parent, std::string settings) override;
    Task<std::string> query(ObjectKind kind, std::string id, std::string query) override;
    Task<> modify(ObjectKind kind, std::string id, std::string settings) override;
    Task<> remove(ObjectKind kind, std::string id) override;
    Task<std::string> call_v1(std::string method, std::string path, std::string body) override;
    Task<> subscribe(std::function<void(const Notification&)> listener) override;

    /// Sets faults and returns the active ones (faults.h); works while the service is down. Error: BadRequest, NotFound.
    Task<std::string> control(std::string request);
    /// The host reboots: namespaces and non-persistent objects are removed.
    Task<> reboot();

    const Model& model() const { return model_; }
    const Profile& profile() const { return options_.profile; }
    /// Where a namespace is on Linux. Error: Hresult::ElementNotFound.
    Result<std::string> namespace_path(const std::string& id) const;

private:
    /// A call's change of the model; returns the answer.
    using Step = std::function<Result<std::string>(Transaction&)>;
    /// What a call needs to know about the host's network adapters.
    enum class Adapters : std::uint8_t { AsKnown, ReadAgain };
    struct Call {
        std::string name;     ///< "HcnCreateEndpoint"; "" for the emulator's own, which meet no faults
        std::string request;  ///< for the log
        Adapters adapters = Adapters::AsKnown;
    };
    struct Subscriber {
        std::function<void(const Notification&)> listener;
        Event ended;
    };
    using Answer = std::shared_ptr<Promise<std::string>>;

    Task<std::string> run(Call call, Step step);
    Task<std::string> run_v2(Call call, Step step);
    Task<> carry_out(Call call, Step step, Answer answer);
    Task<std::string> perform(Call call, Step step);
    Task<> meet_faults(std::string call);
    Task<> commit(const Transaction& transaction);
    Result<void> check_port_race(const Transaction& transaction) const;
    void note_attachments(const Model& before, const Changes& changes);
    Task<std::string> run_v1(Call call, Result<v1::Request> request);
    Task<std::string> endpoint_stats(Call call, std::string id);
    Task<> become(Model (*successor)(const Model&));
    Task<> take_service_action(ControlRequest::Service action);
    Task<> remake(std::string network);
    Task<> stop_service();
    Task<> start_service();
    void start_switches();
    Task<> make_ready(std::string network_id);
    Task<> refresh_adapters();
    void notify(const Notification& notification);
    void disconnect_subscribers();
    std::string status() const;

    EmulatorContext context_;
    EmulatorOptions options_;
    Host host_;
    ObjectStore store_;
    Model model_;
    Faults faults_;
    bool down_ = false, closing_ = false;
    std::map<std::string, MonotonicTime> attached_at_;  // endpoints by id, while a port race is on
    std::map<std::string, bool> switches_starting_;     // networks that make_ready() cares for
    std::list<Subscriber*> subscribers_;
    Semaphore turn_{1};
    Scope scope_;
};

}  // namespace porthole::hns::emulator
