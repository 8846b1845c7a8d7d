#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "controllers/framework/context.h"

namespace porthole::controllers {

/// Owns the informers, recorders and all controllers of controllers.def, from start() to close(), on one loop. The seams and `kinds`
/// must outlive it; after start(), close() it before destroying it.
class ControllerManager {
public:
    struct Seams {
        EventLoop& loop;
        /// The API as an account of kube-system, or for "" as system:kube-controller-manager. Called once for each; the client outlives the
        /// manager.
        std::function<client::Client&(const std::string& account)> client_of;
        Random& random;
        Logger log;
        client::SharedObjects* shared = nullptr;  ///< shared with the other components of the process
    };
    /// Error: BadRequest, naming the controller.
    static Task<std::unique_ptr<ControllerManager>> create(Seams seams, const schema::Registry& kinds, Settings settings);

    void start();
    /// Of all its controllers, in Prometheus' text form. On their loop.
    void append_metrics(std::string& out) const;
    Task<> close();

private:
    /// The clients and controllers of one account.
    struct Account {
        Account(ControllerManager& manager, client::Client& client);
        EventRecorders events;
        Context context;
    };
    ControllerManager(Seams seams, const schema::Registry& kinds, Settings settings);
    Result<void> make_controllers();
    Context& context_of(const std::string& account);
    /// Creates the accounts as objects, for display only; nothing depends on them.
    Task<> ensure_accounts();
    Task<> ensure_account(std::string name);

    Seams seams_;
    const schema::Registry& kinds_;
    const Settings settings_;
    client::Client& client_;  ///< the manager's own
    client::Informers informers_;
    SharedIndexes indexes_;
    std::map<std::string, std::unique_ptr<Account>> accounts_;
    std::vector<ControllerPtr> controllers_;
    Scope scope_;
};

}  // namespace porthole::controllers
