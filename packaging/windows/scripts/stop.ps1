<#
.SYNOPSIS
Ends the node's programs, whether they are services or console programs. Pods keep running; remove.ps1 takes the node out of its cluster.
#>
Import-Module "$PSScriptRoot\common.psm1" -Force
Assert-Administrator
foreach ($name in @('csi-proxy', 'kube-proxy', 'flanneld', 'kubelet')) {
    $service = Get-Service -Name $name -ErrorAction SilentlyContinue
    if ($service -and $service.Status -ne 'Stopped') { Stop-Service -Name $name -Force }
    Get-Process -Name $name -ErrorAction SilentlyContinue | Stop-Process -Force
}
