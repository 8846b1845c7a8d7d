#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "controllers/framework/context.h"

namespace porthole::controllers {

using ControllerPtr = std::unique_ptr<client::Controller>;

struct Registration {
    std::string name;
    /// Null when the settings leave the controller without work. Error: BadRequest for settings it cannot work with.
    std::function<Result<ControllerPtr>(Context&)> make;
};

/// Every controller, in the order in which they are made.
std::vector<Registration> all_controllers();

/// Informers, recorders and all controllers of a process, from start to close.
class ControllerManager {
public:
    struct Seams {
        EventLoop& loop;
        client::Client& client;
        Random& random;
        Logger log;
        client::SharedObjects* shared = nullptr;  ///< with the other components of the process
    };
    /// Error: BadRequest, naming the controller.
    static Result<std::unique_ptr<ControllerManager>> create(Seams seams, const schema::Registry& kinds, Settings settings);

    void start();
    Task<> close();

private:
    ControllerManager(Seams seams, const schema::Registry& kinds, Settings settings);

    Logger log_;
    client::Informers informers_;
    EventRecorders events_;
    Context context_;
    std::vector<ControllerPtr> controllers_;
    Scope scope_;
};

}  // namespace porthole::controllers
