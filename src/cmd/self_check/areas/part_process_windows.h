#pragma once  // private to this folder
#include <optional>
#include <string>
#include <vector>

#include "cmd/self_check/machine.h"
#include "runtime/handle_windows.h"

namespace porthole::cmd::self_check {

/// The command of this process, which plays a part, with another part in its place.
std::vector<std::string> own_command_with(const std::string& part);

/// A process that plays a part, in a console and a process group that its starter chooses. Ended at the latest with this object.
class PartProcess {
public:
    /// `flags` of CreateProcess; `console`: the pseudo console that it gets, null for the console of this process.
    static Result<PartProcess> start(const std::vector<std::string>& command, unsigned long flags, void* console = nullptr);
    PartProcess(PartProcess&&) = default;
    ~PartProcess();

    /// Also of the group that it leads if it was started with CREATE_NEW_PROCESS_GROUP.
    unsigned long id() const { return id_; }
    /// Waits until it has called say_ready().
    Result<void> wait_until_ready(const std::string& folder);
    /// Its exit code; nullopt if it runs longer.
    std::optional<unsigned long> wait(unsigned long milliseconds);

private:
    PartProcess(Handle process, unsigned long id) : process_(std::move(process)), id_(id) {}
    Handle process_;
    unsigned long id_;
};

/// In a part: what wait_until_ready() waits for.
void say_ready(const std::string& folder);

/// In a part: leaves an answer for ask(). Returns the exit code.
int give_answer(const std::string& folder, const Result<schema::Value>& answer);
/// Plays a part to its end, and returns what it has answered.
Result<schema::Value> ask(Machine& machine, const std::string& part);

/// "0xc000013a"; "runs" for nullopt.
std::string exit_code_text(std::optional<unsigned long> code);

}  // namespace porthole::cmd::self_check
