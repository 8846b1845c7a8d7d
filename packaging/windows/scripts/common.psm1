# What the scripts of this folder share. Windows PowerShell 5.1 and PowerShell 7.
Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'

# One line that says what is wrong and what helps, then the end.
function Stop-WithMessage([string] $Message) {
    [Console]::Error.WriteLine($Message)
    exit 1
}

function Assert-Administrator {
    $identity = New-Object Security.Principal.WindowsPrincipal([Security.Principal.WindowsIdentity]::GetCurrent())
    if (-not $identity.IsInRole([Security.Principal.WindowsBuiltInRole]::Administrator)) {
        Stop-WithMessage 'This must run as an administrator: open PowerShell with "Run as administrator".'
    }
}

function Assert-Program([string] $Path) {
    if (-not (Test-Path $Path)) { Stop-WithMessage "$Path is not there: run install.ps1 first." }
}

# Runs a program to its end; a failure ends the script with the program's own message.
function Invoke-Program([string] $Path, [string[]] $Arguments) {
    & $Path @Arguments
    if ($LASTEXITCODE -ne 0) { Stop-WithMessage "$Path ended with $LASTEXITCODE." }
}

# Starts a console program in the background, with its output in files of its name.
function Start-Logged([string] $Path, [string[]] $Arguments, [string] $LogDir) {
    $name = [IO.Path]::GetFileNameWithoutExtension($Path)
    if (Get-Process -Name $name -ErrorAction SilentlyContinue) {
        Write-Host "$name runs already"
        return
    }
    New-Item -ItemType Directory -Force -Path $LogDir | Out-Null
    $quoted = $Arguments | ForEach-Object { if ($_ -match '[\s"]') { '"' + ($_ -replace '"', '\"') + '"' } else { $_ } }
    Start-Process -FilePath $Path -ArgumentList $quoted -WindowStyle Hidden -RedirectStandardOutput "$LogDir\$name.out.log" `
        -RedirectStandardError "$LogDir\$name.err.log" | Out-Null
    Write-Host "$name started; its log is $LogDir\$name.err.log"
}

# The name under which this machine is a node.
function Get-NodeName {
    if ($env:NODE_NAME) { return $env:NODE_NAME }
    return ([Net.Dns]::GetHostName()).ToLowerInvariant()
}

# The first IPv4 address of the adapter, the one in front of the others when the HNS has put a switch over it.
function Get-AdapterAddress([string] $InterfaceName) {
    foreach ($name in @("vEthernet ($InterfaceName)", $InterfaceName)) {
        $address = Get-NetIPAddress -InterfaceAlias $name -AddressFamily IPv4 -ErrorAction SilentlyContinue | Select-Object -First 1
        if ($address) { return $address.IPAddress }
    }
    Stop-WithMessage "No adapter '$InterfaceName' has an IPv4 address: give its name with -InterfaceName, or the address with -ManagementIP."
}

# Waits until `$Condition` is true; $false after the limit.
function Wait-Until([scriptblock] $Condition, [int] $Seconds) {
    $deadline = (Get-Date).AddSeconds($Seconds)
    while ((Get-Date) -lt $deadline) {
        if (& $Condition) { return $true }
        Start-Sleep -Milliseconds 500
    }
    return $false
}

Export-ModuleMember -Function *
