#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "runtime/processes/process.h"

namespace porthole::local_cluster {

/// A service that systemd starts when the machine does, from the files of packaging/systemd.
class SystemUnit {
public:
    /// The cluster stored in `data`: porthole.service, or porthole-<id>.service if it is not the default directory.
    static SystemUnit cluster(const std::filesystem::path& data, const std::string& id);
    /// A control plane alone.
    static SystemUnit server(const std::vector<std::string>& arguments);
    /// `environment`: a file of write_unit_environment(), which need not be there.
    static SystemUnit agent(const std::vector<std::string>& arguments, const std::filesystem::path& environment = {});

    const std::string& name() const { return name_; }
    const std::string& text() const { return text_; }

    /// Whether systemd runs this machine; without it no unit can be installed.
    static bool possible();
    /// Writes the unit and enables its start at boot; `now` starts it immediately, or restarts it if it runs with another command line.
    /// Errors: Io.
    Task<> install(ProcessRunner& processes, bool now) const;
    /// No effect if it is not installed. `stop` ends the service, too.
    Task<> remove(ProcessRunner& processes, bool stop) const;

private:
    SystemUnit(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {}
    std::filesystem::path path() const;
    std::string name_, text_;
};

/// Variables for SystemUnit::agent(), as systemd reads them; only root can read the file, as a proxy's URL may have a password.
Result<void> write_unit_environment(const std::filesystem::path& file, const std::map<std::string, std::string>& variables);

/// Reads the file of write_unit_environment(); empty if there is none.
std::map<std::string, std::string> read_unit_environment(const std::filesystem::path& file);

/// One word of an ExecStart line: quoted if systemd would otherwise split or expand it.
std::string quote_for_unit(const std::string& word);

}  // namespace porthole::local_cluster
