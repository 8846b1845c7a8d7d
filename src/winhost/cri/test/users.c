// users.exe: a program of the tests' Windows image. Prints who it runs as and what its token allows, as programs ask for it.
#include <windows.h>
#include <sddl.h>
#include <shlobj.h>
#include <stdio.h>
#include <stdlib.h>

static HANDLE token;

static void print_user(void) {
    char name[256];
    DWORD size = sizeof name;
    GetUserNameA(name, &size);
    printf("user: %s, %%USERNAME%% %s, profile %s\n", name, getenv("USERNAME"), getenv("USERPROFILE"));
}

static int is_member(WELL_KNOWN_SID_TYPE group) {
    char sid[SECURITY_MAX_SID_SIZE];
    DWORD size = sizeof sid;
    BOOL member = 9;
    CreateWellKnownSid(group, NULL, sid, &size);
    CheckTokenMembership(NULL, sid, &member);
    return member;
}

static void print_rights(void) {
    char bytes[8192], name[64];
    TOKEN_PRIVILEGES* privileges = (TOKEN_PRIVILEGES*)bytes;
    TOKEN_ELEVATION elevation = {9};
    DWORD size;
    GetTokenInformation(token, TokenElevation, &elevation, sizeof elevation, &size);
    printf("administrators: %d, users: %d, IsUserAnAdmin: %d, elevated: %lu\n", is_member(WinBuiltinAdministratorsSid), is_member(WinBuiltinUsersSid),
           IsUserAnAdmin(), elevation.TokenIsElevated);
    GetTokenInformation(token, TokenPrivileges, bytes, sizeof bytes, &size);
    printf("privileges: %s", privileges->PrivilegeCount > 1 ? "many" : "");
    if (privileges->PrivilegeCount == 1 && (size = sizeof name, LookupPrivilegeNameA(NULL, &privileges->Privileges[0].Luid, name, &size))) printf("%s", name);
    printf("\n");
}

int main(void) {
    OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token);
    print_user();
    print_rights();
    return 0;
}
