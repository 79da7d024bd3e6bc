package act

import (
	_ "github.com/nektos/act/pkg/artifacts"
	_ "github.com/nektos/act/pkg/common"
	_ "github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
)
