// SPDX-License-Identifier: Apache-2.0

package edca

import airboundv1 "github.com/airbound/airbound/proto/airbound/v1"

var messageCategories = [categoriesTotal]airboundv1.AccessCategory{
	Background: airboundv1.AccessCategory_ACCESS_CATEGORY_BACKGROUND,
	BestEffort: airboundv1.AccessCategory_ACCESS_CATEGORY_BEST_EFFORT,
	Video:      airboundv1.AccessCategory_ACCESS_CATEGORY_VIDEO,
	Voice:      airboundv1.AccessCategory_ACCESS_CATEGORY_VOICE,
}

// Messages returns the values as the contract has them, one of each category.
func (v Values) Messages() []*airboundv1.Edca {
	messages := make([]*airboundv1.Edca, len(v))
	for i, parameters := range v {
		messages[i] = &airboundv1.Edca{
			Category: messageCategories[i], Aifsn: uint32(parameters.AIFSN), CwMin: uint32(parameters.CWMin),
			CwMax: uint32(parameters.CWMax), TxopLimit: uint32(parameters.TXOPLimit),
			Admission: parameters.Admission,
		}
	}
	return messages
}

// parametersOf takes a message whose values are within their limits.
func parametersOf(message *airboundv1.Edca) Parameters {
	return Parameters{
		AIFSN: uint8(message.GetAifsn()), CWMin: uint16(message.GetCwMin()), //nolint:gosec // see above
		CWMax: uint16(message.GetCwMax()), TXOPLimit: uint16(message.GetTxopLimit()), //nolint:gosec // see above
		Admission: message.GetAdmission(),
	}
}
