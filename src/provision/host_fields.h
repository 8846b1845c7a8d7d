#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "local_cluster/description/description_fields.h"
#include "provision/described_host.h"

/// The fields of every host in a description. Errors: BadRequest with the field.
namespace porthole::provision {

/// Whether an argument of a program can be this text, of ASCII letters, digits and `extra`.
bool is_word(std::string_view text, std::string_view extra);
/// A file on this machine, which becomes absolute; without the field, `into` stays as it is.
Result<void> read_path(const local_cluster::Fields& fields, const char* name, const DescriptionPlace& place, std::string& into);
/// user, port, identityFile and knownHosts.
Result<void> read_target(const local_cluster::Fields& fields, const DescriptionPlace& place, SshTarget& into);
/// An item of `hosts`; it has the defaults' values where it names none.
Result<MachineDescription> read_host(const local_cluster::Fields& host, const DescriptionPlace& place, MachineDescription defaults);
/// No name and no place may be there twice: one machine would be made two, in turn.
Result<void> check_distinct(const std::string& path, const std::vector<MachineDescription>& machines);

/// A description's text, and the place of its file with the user's HOME. Errors: those of reading it.
Result<std::string> read_text(const std::string& file);
DescriptionPlace description_place(const std::string& file);
/// What `read` finds in the description of a file. Errors: also those of reading it; all name the file.
template <class T>
Result<T> read_file_with(const std::string& file, Result<T> (*read)(std::string_view, const DescriptionPlace&)) {
    TRY(const std::string text, read_text(file));
    auto found = read(text, description_place(file));
    if (!found) return std::move(found).error().with_context(file);
    return found;
}

}  // namespace porthole::provision
