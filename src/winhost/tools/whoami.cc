// whoami.exe in place of Wine's, which shows the user's name whatever it is asked for.
//   whoami
//   whoami {/user | /groups | /priv | /all} [/fo {table | list | csv}] [/nh]
// Everything else that Windows' own takes is about domains, of which an emulated host is no member, and is refused.
#include <windows.h>

#include <sddl.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace {

enum class Form { Table, List, Csv };
struct Options {
    bool user = false, groups = false, privileges = false, headings = true, known = true;
    Form form = Form::Table;
    bool name_alone() const { return !user && !groups && !privileges; }
};

/// Columns, then rows of as many texts.
struct Section {
    std::string title;
    std::vector<std::string> columns;
    std::vector<std::vector<std::string>> rows;
};

std::string to_utf8(const wchar_t* wide) {
    const int size = WideCharToMultiByte(CP_UTF8, 0, wide, -1, nullptr, 0, nullptr, nullptr);
    if (size <= 1) return {};
    std::string text(static_cast<std::size_t>(size) - 1, '\0');
    WideCharToMultiByte(CP_UTF8, 0, wide, -1, text.data(), size, nullptr, nullptr);
    return text;
}

class Token {
public:
    bool open() { return OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token_); }

    /// Empty if it cannot be read.
    std::vector<char> read(TOKEN_INFORMATION_CLASS kind) const {
        DWORD size = 0;
        GetTokenInformation(token_, kind, nullptr, 0, &size);
        std::vector<char> bytes(size);
        if (!GetTokenInformation(token_, kind, bytes.data(), size, &size)) bytes.clear();
        return bytes;
    }

private:
    HANDLE token_ = nullptr;
};

struct Account {
    std::string name, sid;  ///< the name is "" if nobody knows it
    SID_NAME_USE use = SidTypeUnknown;
};

Account account_of(PSID sid) {
    Account account;
    wchar_t name[256] = L"", domain[256] = L"", *text = nullptr;
    DWORD name_size = 256, domain_size = 256;
    if (LookupAccountSidW(nullptr, sid, name, &name_size, domain, &domain_size, &account.use))
        account.name = (*domain ? to_utf8(domain) + "\\" : "") + to_utf8(name);
    if (ConvertSidToStringSidW(sid, &text)) account.sid = to_utf8(text);
    return account;
}

std::string lower(std::string text) {
    for (char& letter : text)
        if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter + 32);
    return text;
}

Account user_of(const Token& token) {
    const std::vector<char> bytes = token.read(TokenUser);
    if (bytes.empty()) return {};
    Account account = account_of(reinterpret_cast<const TOKEN_USER*>(bytes.data())->User.Sid);
    account.name = lower(account.name);  // as Windows writes it
    return account;
}

const char* type_of(SID_NAME_USE use) {
    switch (use) {
        case SidTypeUser:
            return "User";
        case SidTypeGroup:
            return "Group";
        case SidTypeAlias:
            return "Alias";
        case SidTypeWellKnownGroup:
            return "Well-known group";
        default:
            return "Unknown SID type";
    }
}

std::string attributes_of(DWORD attributes) {
    struct Word {
        DWORD bit;
        const char* text;
    };
    static constexpr Word Words[] = {{SE_GROUP_MANDATORY, "Mandatory group"},
                                     {SE_GROUP_ENABLED_BY_DEFAULT, "Enabled by default"},
                                     {SE_GROUP_ENABLED, "Enabled group"},
                                     {SE_GROUP_OWNER, "Group owner"},
                                     {SE_GROUP_USE_FOR_DENY_ONLY, "Group used for deny only"}};
    std::string text;
    for (const Word& word : Words)
        if (attributes & word.bit) text += (text.empty() ? "" : ", ") + std::string(word.text);
    return text;
}

Section user_section(const Token& token) {
    const Account user = user_of(token);
    return {"USER INFORMATION", {"User Name", "SID"}, {{user.name, user.sid}}};
}

Section group_section(const Token& token) {
    Section section{"GROUP INFORMATION", {"Group Name", "Type", "SID", "Attributes"}, {}};
    const std::vector<char> bytes = token.read(TokenGroups);
    if (bytes.empty()) return section;
    const auto* groups = reinterpret_cast<const TOKEN_GROUPS*>(bytes.data());
    for (DWORD i = 0; i < groups->GroupCount; ++i) {
        const SID_AND_ATTRIBUTES& group = groups->Groups[i];
        if ((group.Attributes & SE_GROUP_LOGON_ID) == SE_GROUP_LOGON_ID) continue;  // Windows shows it with /logonid alone
        const Account account = account_of(group.Sid);
        section.rows.push_back({account.name, type_of(account.use), account.sid, attributes_of(group.Attributes)});
    }
    return section;
}

Section privilege_section(const Token& token) {
    Section section{"PRIVILEGES INFORMATION", {"Privilege Name", "Description", "State"}, {}};
    const std::vector<char> bytes = token.read(TokenPrivileges);
    if (bytes.empty()) return section;
    const auto* privileges = reinterpret_cast<const TOKEN_PRIVILEGES*>(bytes.data());
    for (DWORD i = 0; i < privileges->PrivilegeCount; ++i) {
        LUID_AND_ATTRIBUTES one = privileges->Privileges[i];
        wchar_t name[128] = L"", description[256] = L"";
        DWORD name_size = 128, description_size = 256, language = 0;
        LookupPrivilegeNameW(nullptr, &one.Luid, name, &name_size);
        LookupPrivilegeDisplayNameW(nullptr, name, description, &description_size, &language);
        section.rows.push_back({to_utf8(name), to_utf8(description), one.Attributes & SE_PRIVILEGE_ENABLED ? "Enabled" : "Disabled"});
    }
    return section;
}

void print_csv(const std::vector<std::string>& texts) {
    for (std::size_t i = 0; i < texts.size(); ++i) std::printf("%s\"%s\"", i ? "," : "", texts[i].c_str());
    std::printf("\n");
}

void print_list(const Section& section) {
    std::size_t width = 0;
    for (const std::string& column : section.columns) width = std::max(width, column.size() + 1);
    for (const auto& row : section.rows) {
        std::printf("\n");
        for (std::size_t i = 0; i < row.size(); ++i)
            std::printf("%-*s %s\n", static_cast<int>(width), (section.columns[i] + ":").c_str(), row[i].c_str());
    }
}

void print_table(const Section& section, bool headings) {
    std::vector<std::size_t> widths;
    for (std::size_t i = 0; i < section.columns.size(); ++i) {
        std::size_t width = section.columns[i].size();
        for (const auto& row : section.rows) width = std::max(width, row[i].size());
        widths.push_back(width);
    }
    const auto print_row = [&](const std::vector<std::string>& texts) {
        for (std::size_t i = 0; i < texts.size(); ++i)
            std::printf("%s%-*s", i ? " " : "", i + 1 < texts.size() ? static_cast<int>(widths[i]) : 0, texts[i].c_str());
        std::printf("\n");
    };
    std::vector<std::string> rule;
    for (const std::size_t width : widths) rule.emplace_back(width, '=');
    std::printf("\n");
    if (headings) print_row(section.columns), print_row(rule);
    for (const auto& row : section.rows) print_row(row);
}

void print(const Section& section, const Options& options) {
    if (options.form == Form::Csv) {
        if (options.headings) print_csv(section.columns);
        for (const auto& row : section.rows) print_csv(row);
        return;
    }
    if (options.headings) std::printf("\n%s\n%s\n", section.title.c_str(), std::string(section.title.size(), '-').c_str());
    if (options.form == Form::List) return print_list(section);
    print_table(section, options.headings);
}

Options options_of(int count, wchar_t** words) {
    Options options;
    for (int i = 1; i < count; ++i) {
        std::string word = lower(to_utf8(words[i]));
        if (word[0] == '-') word[0] = '/';
        if (word == "/user")
            options.user = true;
        else if (word == "/groups")
            options.groups = true;
        else if (word == "/priv")
            options.privileges = true;
        else if (word == "/all")
            options.user = options.groups = options.privileges = true;
        else if (word == "/nh")
            options.headings = false;
        else if (word == "/fo" && i + 1 < count) {
            const std::string form = lower(to_utf8(words[++i]));
            options.form = form == "csv" ? Form::Csv : form == "list" ? Form::List : Form::Table;
            if (form != "csv" && form != "list" && form != "table") options.known = false;
        } else
            options.known = false;
    }
    return options;
}

}  // namespace

int wmain(int count, wchar_t** words) {
    const Options options = options_of(count, words);
    Token token;
    if (!options.known) {
        std::fprintf(stderr, "whoami: an emulated Windows host has /user, /groups, /priv and /all, with /fo and /nh\n");
        return 1;
    }
    if (!token.open()) {
        std::fprintf(stderr, "whoami: the token cannot be read: error %lu\n", GetLastError());
        return 1;
    }
    if (options.name_alone()) std::printf("%s\n", user_of(token).name.c_str());
    if (options.user) print(user_section(token), options);
    if (options.groups) print(group_section(token), options);
    if (options.privileges) print(privilege_section(token), options);
    return 0;
}
